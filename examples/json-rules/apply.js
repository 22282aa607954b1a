// Reference applier of undust-json-rules 1 (docs/json-rules.md): load(text of a file) gives a function of URLs.
// Normal form: an origin, allowed characters, a path without dot segments, and no escape that is written otherwise.
const SAFE = /^https?:\/\/[^/?#]+(?=\/[!#-;=?-~]*$)(?![^?#]*(?:[{}\\`]|\/\.{1,2}(?:[/?#]|$))|[^#]*#[^`]*`)/;
const ESCAPES = /%(?:[a-f][0-9A-Fa-f]|[0-9A-F][a-f]|2[DE]|3[0-9]|[46][1-9A-F]|5[0-9AF]|7[0-9AE])/;
const EXTENSION = new RegExp("(?<=^[^;]+)[.](?:[sx]?html|htm|php[345]?|phtml|aspx?|jspx?|cgi|cfm|do|action|pl|txt|md" +
  "|rst|pdf|json|xml|rss|atom|png|jpe?g|gif|svg|css|js|zip|gz|bz2|patch|diff|webp|ico|mp[34])$", "i");
const INDEX = /^(?:index|default|home|main)\.(?:html?|php[345]?|aspx?|jsp|cgi|cfm|shtml|phtml)$/i;
const PARTS = [".groups", ".group", "", ".number", ".tail", ".ext"], MOST = 64, DEEPEST = 24; // parameters, segments
const DEEP = /^((?:\/+[^/]+){23}\/+(?=[^/])|.*)(.*)$/; // 23 segments and the rest as the last one, else all and nothing
// A URL; its path goes on in the query; a list there; paths that end in /start-30, /view, -print; a number inside.
const URL = /^([^:]*:\/\/[^/?#]*)([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/;
const QUERY_PATH = /^([^:]*:\/\/[^/?#]*)([^?#]*\?[^/=&#]*\/+[^/;=&#][^=&#]*)(?:&([^#]*))?(?:#(.*))?$/;
const LIST = /^(?=[^&]*,)([^&=]*?)((?:,[A-Za-z_]\w*=[^&,?]*)*)(?:&(.*))?$/; // head, named parts, what follows
const NUMBERED_END = /^((?:\/[^/]+){1,22})(\/[A-Za-z]+[-_])([0-9]+)$/;
const ENDING = /^((?:\/[^/]+){1,22})(\/)(?!\*)([^/;.]+(?=\/?$)|[^/;]+$)(\/?)$/;
const JOINED = /^((?:\/[^/]+){0,22}\/[^/;]*[A-Za-z0-9])([-_.,~])([A-Za-z]+)$/;
const INNER_NUMBER = /^([A-Za-z][A-Za-z_.-]{0,19}[-_])([0-9]+)(?=[-_].)/;
const file = (path) => /[^/]*$/.exec(path)[0], local = (url) => url.slice(origin(url).length); // the last segment
const origin = (url) => (SAFE.test(url) && !ESCAPES.test(url) ? URL.exec(url)[1] : null);
const rank = (order, name) => order.lastIndexOf(name) + 1 || order.length + 1;
const usual = (order) => (a, b) => rank(order, a) - rank(order, b) || (a > b) - (a < b);
const named = (text) => /^([^=]*=?)(.*)$/s.exec(text).slice(1); // the name of a parameter, with the "=", and its value
const written = (name) => (name.includes("#") ? "" : name); // the value of a family of names is all of the parameter
const isDistinct = (of) => of.length <= MOST && new Set(of.map(([name]) => name)).size === of.length;
const identity = (pairs, without) => JSON.stringify([...pairs].filter(([key]) => key !== without).sort());
// Groups up to the last two delimiters or an inner number, head, number, tail and known extension of a path segment.
function parts(segment, site) {
  const marks = [...segment.slice(0, -1)].flatMap((c, i) => (site.delimiters.includes(c) ? [i + 1] : []));
  const inside = site.inner_numbers && !marks.length ? INNER_NUMBER.exec(segment) : null;
  const [group, body] = inside ? [inside[1].length, inside[0].length] : [marks.at(-2) ?? 0, marks.at(-1) ?? 0];
  const [rest, text] = [segment.slice(body), segment.slice(body).replace(EXTENSION, "")];
  const cuts = [/^((?:[A-Za-z][A-Za-z_.-]{0,20})?)([0-9]+)()$/, /^()([0-9]+)([-_].*)$/, /^(.*[-_])([0-9]+)()$/];
  if (inside) cuts.unshift(/^([-_])([0-9]+)((?:[-_].*)?)$/);
  const [head, number, tail] = cuts.map((cut) => cut.exec(text)).find(Boolean)?.slice(1) ?? [text, "", ""];
  return [segment.slice(0, group), segment.slice(group, body), head, number, tail, rest.slice(text.length)];
}
// A parameter; where names that differ in their digits are a family, the family and all of the parameter.
const hashed = (name) => name.replace(/(%[^%]?[^%]?)|[0-9]+/g, (digits, escape) => escape ?? "#");
const parameter = (site) => ([name, value]) => !site.name_families || hashed(name) === name ? [name, value]
  : [name.endsWith("=") ? hashed(name) : "#", name + value];
// 1. The key-value pairs of a URL.
function cut(url, site) {
  const [, before, path, query, fragment] = (site.query_path && QUERY_PATH.exec(url)) || URL.exec(url);
  const pairs = new Map([["scheme", before.split("://")[0]], ["host", before.split("://")[1]]]);
  const [, above, , word, behind] = ENDING.exec(path) ?? [], ext = EXTENSION.exec(file(path))?.[0] ?? "";
  const ending = site.endings?.includes(word) && ["", above + (word.includes(".") ? "/" : behind), "/", word];
  const [, rest, joint, tail] = JOINED.exec(path.slice(0, path.length - ext.length)) ?? [];
  const tied = site.endings?.includes(`*${joint}${tail}`) && !INDEX.test(file(rest + ext));
  const tie = joint + (!ext && EXTENSION.test(file(rest ?? "")) ? "//" : "/");
  const end = ending || (site.numbered_end && NUMBERED_END.exec(path)) || (tied && ["", rest + ext, tie, tail]);
  const [body, semicolons] = end ? [end[1]] : /^(.*?)(?:;([^/]*))?$/.exec(path).slice(1);
  const [, front, deep] = DEEP.exec(body), segments = [...(front.match(/[^/]+/g) ?? []), ...(deep ? [deep] : [])];
  const doubled = front.split(/[^/]+/).flatMap((slashes, i) => [...slashes.slice(1)].map(() => i));
  if (doubled.length) pairs.set("double slash", doubled.join("."));
  const slash = segments.length > 0 && !deep && front.endsWith("/");
  if (!slash && INDEX.test(segments.at(-1) ?? "")) pairs.set("index", segments.pop());
  if (slash || (pairs.has("index") && segments.length)) pairs.set("trailing slash", "/");
  pairs.set("depth", String(segments.length));
  const extension = pairs.has("trailing slash") ? null : `path${segments.length - 1}.ext`;
  const cells = segments.flatMap((segment, i) => parts(segment, site).map((text, n) => [`path${i}${PARTS[n]}`, text]));
  for (const [key, value] of cells) if (value) pairs.set(key === extension ? "ext" : key, value);
  const params = end ? [[end[2], end[3]]] : semicolons?.split(";").map(named) ?? [];
  for (const [name, value] of isDistinct(params) ? params : [["", semicolons]]) pairs.set("param " + name, value);
  if (fragment !== undefined && (site.fragments || /^[!/]/.test(fragment))) pairs.set("fragment", fragment);
  const [, head, list = "", more] = (site.commas && query && LIST.exec(query)) || [];
  const listed = [["", head], ...list.split(/(?=,[A-Za-z_]\w*=)/).map(named)].filter((of) => of.join(""));
  const left = listed.length && isDistinct(listed) && more !== "" ? more : query;
  for (const [name, value] of left === query ? [] : listed) pairs.set("param <list>" + name, value);
  if (!(left || (left === "" && path.includes("?")))) return left === "" ? pairs.set("empty query", "") : pairs;
  const other = site.semicolons ? ";" : site.nested_queries ? "?" : ""; // beside the &
  const found = left.split(new RegExp(`[&${other}]`)).map(named).map(parameter(site)), names = found.map(([n]) => n);
  if (found.length > MOST) return pairs.set("whole query", left);
  const marks = other && left.replace(new RegExp(`[^&${other}]`, "g"), "").replace(/^(.)\1+$/, "$1");
  if (marks.includes(site.joined_by_semicolons ? "&" : other || " ")) pairs.set("separator", marks);
  if (names.join("&") !== [...names].sort(usual(site.order)).join("&")) pairs.set("order", names.join("&"));
  for (const [n, of, k = "query " + n] of found) pairs.set(k, pairs.has(k) ? pairs.get(k) + "&" + written(n) + of : of);
  for (const [name, c, k = "query " + name, of = { "/": "/|%2F", ":": ":|%3A" }[c] ?? "[.]"] of site.value_ends ?? [])
    for (const [, head, end] of (pairs.get(k) ?? "").matchAll(`^((?:(?!${of})[^&])+)((?:${of})(?:(?!${of})[^&])+)$`))
      pairs.set(k, head).set("param <end>" + name, end);
  return pairs;
}
// 2. The URL of key-value pairs.
function compose(pairs, site, get = (key) => pairs.get(key) ?? "") {
  const count = (text) => Math.min(Number(text.replace(/[^0-9]/g, "")), DEEPEST + 1);
  const [depth, doubled] = [count(get("depth")), get("double slash") ? get("double slash").split(".").map(count) : []];
  const slashes = (place) => "/" + "/".repeat(doubled.filter((at) => at === place).length);
  const kind = (of) => [...pairs].flatMap(([key, value]) => key.startsWith(of) ? [[key.slice(of.length), value]] : []);
  let url = `${get("scheme")}://${get("host")}`;
  for (let i = 0; i < depth; i++) url += slashes(i) + PARTS.map((part) => get(`path${i}${part}`)).join("");
  const joined = (end) => kind("param ").map(([n, of]) => (end.test(n) ? n.replace(/\/+$/, "") + of : "")).join("");
  url += joined(/^[^/]+\/$/) + get("ext") + joined(/^[^/]+\/\/$/);
  const last = kind("param /").map(([name, value]) => "/" + name + value).join("");
  const [isBefore, isFile] = [!depth || pairs.has("index"), kind("param /").some(([, value]) => value.includes("."))];
  const isOpen = isBefore || (pairs.has("trailing slash") && !pairs.has("ext") && !isFile);
  url += (isBefore ? "" : last) + (isOpen ? slashes(depth) : "") + get("index") + (isBefore ? last : "");
  url += kind("param ").map(([n, of]) => (/^\/|^<list>|^<end>|^[^/]+\/\/?$/.test(n) ? "" : `;${n}${of}`)).join("");
  url += kind("param <list>").sort(([a], [b]) => !!a - !!b).map((of, i) => (i ? "" : "?") + of.join("")).join("");
  const alone = kind("param <end>").filter(([name]) => !pairs.has("query " + name)), order = usual(site.order);
  const whole = kind("query ").map(([n, of]) => [n, of + get("param <end>" + n)]).sort(([a], [b]) => order(a, b));
  const query = ordered([...alone, ...whole], pairs.get("order")?.split("&"));
  let [nth, own, common] = [0, get("separator"), site.joined_by_semicolons ? ";" : "&"];
  const separator = () => (/[&;?]/.exec(own[nth++] ?? own.at(-1) ?? "") ?? [common])[0];
  const all = [query.join("&").replace(/&/g, separator), ...kind("whole query").flat().slice(1)].slice(+!query.length);
  const mark = (site.query_path || kind("param <list>").length) && url.includes("?") ? "&" : "?";
  if (all.length || (pairs.has("empty query") && mark === "?")) url += mark + all.join("&");
  return url + (pairs.has("fragment") ? "#" + get("fragment") : "");
}
// Parameters as the names stand, the n-th value of a name at its n-th place; those without a place follow.
function ordered(query, names = []) {
  const left = new Map(query.map(([name, value]) => [name, value.split("&" + written(name))]));
  const placed = names.flatMap((name, i) => !left.get(name)?.length && !new Map(query).get(name)?.endsWith(name) ? []
    : [written(name) + left.get(name).splice(0, names.includes(name, i + 1) ? 1 : 1e9).join("&" + written(name))]);
  return [...placed, ...query.flatMap(([name, value]) => (names.includes(name) ? [] : [written(name) + value]))];
}
// 3. The section of a URL: the first directory of its path, as far as the site names it.
function section(url, names) {
  const [, whole, first, slash, member] = /^[^:]*:\/\/[^/?#]*\/*(([^/?#]*)(\/*)([^/?#]*))/.exec(url);
  if (/^~./.test(first) || !slash || /[%;]/.test(first)) return /^~./.test(first) ? first : "<other>";
  if (member && names.includes(first + "/")) return whole;
  return /^[0-9]*$/.test(first) ? "<number>" : names.includes(first) ? first : "<other>";
}
const halves = (of, nth) => of.split("&").map((part) => named(part)[nth]); // names or values of joined parameters
const sorted = (of) => ((name) => [...new Set(halves(name + of, 1))].sort().join("&" + name))(halves(of, 0)[1] ?? "");
const family = (value, at, all, names = halves(value, 0)) => names.some((name, i) => i && names[i - 1] >= name)
  ? value : halves(value, 1).sort().map((of, i) => names[i] + of).join("&");
const hash = (digits) => [new RegExp(`(?<=^[0-9a-f]{${digits}})[0-9a-f]{${40 - digits}}$`), ""];
const FUNCTIONS = { "decode-sub-delimiters": [/%(?:2[1478-9AC]|3A|40)/gi, decodeURIComponent], "hash-to-7": hash(7),
  "lower-case": [/%[0-9A-F]{2}|[A-Z]/gi, (text) => (text.length > 1 ? text : text.toLowerCase())], "hash-to-8": hash(8),
  "decode-slash": [/%[23]F/gi, decodeURIComponent], "drop-title": [/(?<=^[0-9]+)(?:[:_-]|%3A)[A-Za-z%][^&]*$/, ""],
  "drop-leading-zeros": [/^0+(?=[0-9]+$)/, ""], "last-repeat": [/^.*&[^=&]*=?/, ""], "drop-www": [/^www\.(?=.*\.)/, ""],
  "plus-is-space": [/\+/g, "%20"], "sort-repeats": [/^.*$/, sorted], "sort-family": [/^.*$/, family],
  "first-repeat": [/&.*$/, ""], "hash-to-10": hash(10), "hash-to-12": hash(12) }; // what is replaced, and what by
// Values that can stand at another key: they hold no delimiter that means something there.
const FITS = { query: /^[^&#+]*$/, param: /^[^/?#;]+$/, host: /^[a-z0-9][a-z0-9-]*(\.[a-z0-9][a-z0-9-]*)*$/ };
const fits = (value, key) => (FITS[key.split(" ")[0]] ?? /^(?!\.\.?$)[^/?#;&+]+$/).test(value);
// 4. A rule: the pairs that it makes of pairs, or null where it does nothing.
function act(rule, pairs, here, origins, value = (key) => (key === "section" ? here : pairs.get(key))) {
  const holds = (test) => (test.not !== undefined || (test.present === false) === (value(test.key) === undefined)) &&
    (test.in?.includes(value(test.key)) ?? true) && !(test.not ?? test.not_in)?.includes(value(test.key));
  const known = rule.when.filter((test) => test.present !== false && !test.not).map((test) => test.key);
  if (!rule.when.every(holds) || (rule.whole && [...pairs.keys()].some((key) => !known.includes(key)))) return null;
  const made = new Map(rule.whole ? [] : pairs), from = (of) => `${of.get("scheme")}://${of.get("host")}`;
  for (const { key, remove, set, replace, copy, map, apply } of rule.then) {
    const [old, copied, mapped = map?.find(([was]) => was === (old ?? null))] = [made.get(key), pairs.get(copy)];
    if (copy !== undefined && (copied === undefined || (copy !== key && !fits(copied, key)))) return null;
    const present = () => (old === undefined ? null : replace ?? (apply ? old.replace(...FUNCTIONS[apply]) : old));
    const to = remove ? null : set ?? copied ?? (mapped ? mapped[1] : present());
    to === null ? made.delete(key) : made.set(key, to);
  }
  return from(made) === from(pairs) || origins.includes(from(made)) ? made : null;
}
// A value that is as well the rest of a path: no empty or dot segment, no "~" before it, no delimiter, none escaped.
const REST = /^(?!~|.*%(?:0[0AD]|2[356BEF]|3[BF]|5C|(?![0-9A-F]{2}))|(?:.*\/)?\.{0,2}(?:\/|$))[^&;+?]+$/i;
// 5. The twin of a URL below the front of a mirror, a directory or a parameter with the rest of a path; and which
function moved(url, { front, to }) {
  const [isValue, [start, ...names]] = [front.includes("?"), front.includes("?") ? front.split("&") : [front]];
  const rest = url.startsWith(start) ? url.slice(start.length) : "";
  if (!isValue) return rest.startsWith("/") ? [to + rest, isValue] : null;
  const [, value, more, end] = (names.length ? /^([^#&]*)&([^#;?]+)(#.*|)$/ : /^([^#]*)()(.*)$/).exec(rest) ?? [0, ""];
  const [isBare, isOther] = [start.endsWith("?"), (of) => !of || !names.includes(named(of)[0])];
  if (!REST.test(value) || (isBare && value.includes("=")) || (more && more.split("&").some(isOther))) return null;
  return [`${to}/${value.replace(/[{}`]/g, encodeURIComponent)}${more && "?" + more}${end}`, isValue];
}
// 6. A site: its rules in order, exceptions, mirrors, look-ups and ranges.
class Site {
  constructor(site) {
    Object.assign(this, site).except = new Map(site.exceptions.map(([url, of]) => [identity(this.run(url, " ")), of]));
    this.pages = new Map(site.lookups.map(([url, page]) => [identity(this.reduce(url)), page]));
    this.ranges = site.ranges.map((range) => ({ ...range, others: identity(this.reduce(range.like), range.key) }));
  }
  run(url, without, here = section(url, this.sections)) {
    const acting = this.rules.filter(({ id }) => without !== "*" && without !== id);
    const pairs = acting.reduce((before, rule) => act(rule, before, here, this.origins) ?? before, cut(url, this));
    return !without && this.except.has(identity(pairs)) ? this.run(url, this.except.get(identity(pairs))) : pairs;
  }
  reduce(url, pairs = this.run(url)) {
    const [twin, isValue] = this.mirrors.map((mirror) => moved(compose(pairs, this), mirror)).find(Boolean) ?? [];
    const isTwin = () => !isValue || local(compose(this.run(twin), this)) === local(twin);
    return this.origins.includes(origin(twin)) && isTwin() ? this.run(twin) : pairs;
  }
  result(url, pairs = this.reduce(url)) {
    const hits = ({ key, absent, text = "", numbers, others }, value = pairs.get(key) ?? "") => {
      const [number] = (value.startsWith(text) && /^(?:0|[1-9][0-9]{0,14})$/.exec(value.slice(text.length))) || [];
      const isIn = !numbers || (number && numbers[0] <= number && number <= numbers[1]);
      return (absent || pairs.has(key)) && isIn && identity(pairs, key) === others;
    };
    return this.pages.get(identity(pairs)) ?? this.ranges.find((range) => hits(range))?.page ?? compose(pairs, this);
  }
  plain = (url) => (this.fragments ? url : url.replace(/^([^#]*)#(?![!/]).*$/, "$1"));
  // What the rules make of a URL on the site in normal form; itself, where it is canonical.
  twice = (url) => this.origins.includes(origin(url)) && this.plain(url) === url && this.result(url);
  canonical = (url, plain = this.plain(url), made = this.result(plain)) =>
    made === plain ? made : [made, this.twice(made)].find((one) => one && this.twice(one) === one) ?? plain;
}
// 7. A file: the canonical URL of each URL. One that is not in normal form, or on an origin of no site or two, stays.
exports.load = (text, owners = new Map()) => {
  for (const site of JSON.parse(text).sites.map((one) => new Site(one)))
    for (const of of site.origins) owners.set(of, owners.has(of) || site.shared.includes(of) ? null : site);
  return (url) => owners.get(origin(url))?.canonical(url) ?? url;
};
