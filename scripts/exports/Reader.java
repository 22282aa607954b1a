// Reads what Apache Nutch's urlnormalizer-regex and Heritrix' RegexRule read, with the JDK alone: XML by its DOM parser,
// patterns by java.util.regex. URLs one a line on standard input, results on standard output.
//
// java Reader.java nutch|heritrix FILE < urls > results

import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.xml.parsers.DocumentBuilderFactory;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

public class Reader {
    record Rule(Pattern pattern, String replacement) {}

    public static void main(String[] args) throws Exception {
        boolean nutch = args[0].equals("nutch");
        Document document = DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(new File(args[1]));
        List<Rule> rules = nutch ? nutch(document) : heritrix(document);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String url = in.readLine(); url != null; url = in.readLine()) {
            for (Rule rule : rules) {
                Matcher matcher = rule.pattern().matcher(url);
                if (nutch) {
                    url = matcher.replaceAll(rule.replacement());
                } else if (matcher.matches()) {
                    StringBuffer buffer = new StringBuffer();
                    matcher.appendReplacement(buffer, rule.replacement());
                    url = buffer.toString();
                }
            }
            out.println(url);
        }
        out.flush();
    }

    static List<Rule> nutch(Document document) {
        if (!document.getDocumentElement().getTagName().equals("regex-normalize")) {
            throw new IllegalArgumentException("top-level element not <regex-normalize>");
        }
        List<Rule> rules = new ArrayList<>();
        NodeList regexes = document.getElementsByTagName("regex");
        for (int i = 0; i < regexes.getLength(); i++) {
            Element regex = (Element) regexes.item(i);
            String pattern = regex.getElementsByTagName("pattern").item(0).getFirstChild().getNodeValue();
            Element substitution = (Element) regex.getElementsByTagName("substitution").item(0);
            String text = substitution.hasChildNodes() ? substitution.getFirstChild().getNodeValue() : "";
            rules.add(new Rule(Pattern.compile(pattern), text));
        }
        return rules;
    }

    static List<Rule> heritrix(Document document) {
        List<Rule> rules = new ArrayList<>();
        NodeList beans = document.getElementsByTagName("bean");
        for (int i = 0; i < beans.getLength(); i++) {
            Element bean = (Element) beans.item(i);
            if (!bean.getAttribute("class").equals("org.archive.modules.canonicalize.RegexRule")) {
                continue;
            }
            String regex = null;
            String format = null;
            NodeList properties = bean.getElementsByTagName("property");
            for (int j = 0; j < properties.getLength(); j++) {
                Element property = (Element) properties.item(j);
                switch (property.getAttribute("name")) {
                    case "regex" -> regex = property.getAttribute("value");
                    case "format" -> format = property.getAttribute("value");
                    default -> throw new IllegalArgumentException(property.getAttribute("name"));
                }
            }
            rules.add(new Rule(Pattern.compile(regex), format));
        }
        return rules;
    }
}
