// Reference applier of undust-json-rules, version 1. docs/json-rules.md says what each step means. A JavaScript engine is all
// that is needed: load(text of a file) gives a function from a URL to its canonical URL. canonical.js is a program of it.
"use strict";
const SAFE = new RegExp(String.raw`^(?=[!\x23-;=?-~]*$)(?![^?#]*(?:[{}\x5c\x60]|/\.{1,2}(?:[/?#]|$))|[^#]*#[^\x60]*\x60)` +
  "(?!.*%(?:[a-f][0-9A-Fa-f]|[0-9A-F][a-f]|2[DE]|3[0-9]|[46][1-9A-F]|5[0-9AF]|7[0-9AE]))");
const EXTENSION = new RegExp("^(?:[sx]?html|htm|php[345]?|phtml|aspx?|jspx?|cgi|cfm|do|action|pl|txt|md|rst|pdf|json|xml|rss" +
  "|atom|png|jpe?g|gif|svg|css|js|zip|gz|bz2|patch|diff|webp|ico|mp[34])$", "i");
const INDEX = /^(?:index|default|home|main)\.(?:html?|php[345]?|aspx?|jsp|cgi|cfm|shtml|phtml)$/i;
const TENANTS = /^(?:users?|people|members?|u|home|homepages)$/i;
const PARTS = [".groups", ".group", "", ".number", ".tail", ".ext"];
const [MOST, DEEPEST] = [64, 24]; // parameters and path segments that become keys
const rank = (order, name) => (order.includes(name) ? order.lastIndexOf(name) : order.length);
const usual = (order) => (a, b) => rank(order, a) - rank(order, b) || (a > b) - (a < b);
const split = (url) => /^([^:]*:\/\/[^/?#]*)([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/.exec(url).slice(1);
const named = (text) => /^([^=]*=?)(.*)$/s.exec(text).slice(1); // the name of a parameter, with the "=", and its value
const identity = (pairs) => JSON.stringify([...pairs].sort());
// Groups up to the last two delimiters, head, number, tail and known extension of a path segment.
function parts(segment, delimiters) {
  const marks = [...segment.slice(0, -1)].flatMap((c, i) => (delimiters.includes(c) ? [i + 1] : []));
  const [group, body] = [marks.at(-2) ?? 0, marks.at(-1) ?? 0];
  const rest = segment.slice(body);
  const dot = rest.split(";")[0].lastIndexOf(".");
  const text = dot > 0 && EXTENSION.test(rest.slice(dot + 1)) ? rest.slice(0, dot) : rest;
  const cuts = [/^((?:[A-Za-z][A-Za-z_.-]{0,20})?)([0-9]+)()$/, /^()([0-9]+)([-_].*)$/, /^(.*[-_])([0-9]+)()$/];
  const found = body > 0 && /^[0-9]+\.[0-9]+$/.test(text) ? null : cuts.map((cut) => cut.exec(text)).find(Boolean);
  return [segment.slice(0, group), segment.slice(group, body), ...(found?.slice(1) ?? [text, "", ""]), rest.slice(text.length)];
}
// 1. The key-value pairs of a URL.
function cut(url, site) {
  const [origin, path, query, fragment] = split(url);
  const pairs = new Map([["scheme", origin.split("://")[0]], ["host", origin.split("://")[1]]]);
  const semicolon = path.indexOf(";", path.lastIndexOf("/"));
  const end = semicolon < 0 ? path.length : semicolon;
  const [segments, doubled] = [[], []];
  path.slice(1, end).split("/").forEach((segment, i, all) => {
    if (segments.length === DEEPEST) return;
    if (segment) segments.push(segments.length + 1 === DEEPEST ? all.slice(i).join("/") : segment);
    else if (i + 1 < all.length) doubled.push(segments.length);
  });
  if (doubled.length) pairs.set("double slash", doubled.join("."));
  const slash = segments.length > 0 && segments.length < DEEPEST && path[end - 1] === "/";
  const isIndex = !slash && INDEX.test(segments.at(-1) ?? "");
  if (isIndex) pairs.set("index", segments.pop());
  if (slash || (isIndex && segments.length)) pairs.set("trailing slash", "/");
  pairs.set("depth", String(segments.length));
  segments.forEach((segment, i) => parts(segment, site.delimiters).forEach((value, part) => {
    const isLast = part === 5 && i + 1 === segments.length && !pairs.has("trailing slash");
    if (value) pairs.set(isLast ? "ext" : `path${i}${PARTS[part]}`, value);
  }));
  if (semicolon >= 0) {
    const all = path.slice(semicolon + 1).split(";").map(named);
    const isPlain = all.length <= MOST && new Set(all.map(([name]) => name)).size === all.length;
    for (const [name, value] of isPlain ? all : [["", path.slice(semicolon + 1)]]) pairs.set("param " + name, value);
  }
  if (fragment !== undefined && (site.fragments || /^[!/]/.test(fragment))) pairs.set("fragment", fragment);
  if (query === "") pairs.set("empty query", "");
  const found = query ? query.split(site.semicolons ? /[&;]/ : "&").map(named) : [];
  if (found.length > MOST) return pairs.set("whole query", query);
  const separators = site.semicolons && query ? query.replace(/[^&;]/g, "") : "";
  if (separators.includes(site.joined_by_semicolons ? "&" : ";")) pairs.set("separator", separators.replace(/^(.)\1+$/, "$1"));
  const names = found.map(([name]) => name);
  if (names.join("&") !== [...names].sort(usual(site.order)).join("&")) pairs.set("order", names.join("&"));
  const before = (name) => (pairs.has("query " + name) ? `${pairs.get("query " + name)}&${name}` : "");
  for (const [name, value] of found) pairs.set("query " + name, before(name) + value);
  return pairs;
}
// 2. The URL of key-value pairs.
function compose(pairs, site) {
  const get = (key) => pairs.get(key) ?? "";
  const count = (text) => Math.min(Number(text.replace(/[^0-9]/g, "")), DEEPEST + 1);
  const [depth, doubled] = [count(get("depth")), pairs.has("double slash") ? get("double slash").split(".").map(count) : []];
  const slashes = (place) => "/" + "/".repeat(doubled.filter((at) => at === place).length);
  const kind = (of) => [...pairs].flatMap(([key, value]) => (key.startsWith(of) ? [[key.slice(of.length), value]] : []));
  let url = `${get("scheme")}://${get("host")}`;
  for (let i = 0; i < depth; i++) url += slashes(i) + PARTS.map((part) => get(`path${i}${part}`)).join("");
  url += get("ext");
  if (depth === 0 || pairs.has("index") || (pairs.has("trailing slash") && !pairs.has("ext"))) url += slashes(depth);
  url += get("index") + kind("param ").map(([name, value]) => `;${name}${value}`).join("");
  const query = kind("query ").sort(([a], [b]) => usual(site.order)(a, b));
  const parameters = (pairs.has("order") ? ordered(query, get("order").split("&")) : query).map((pair) => pair.join(""));
  let [nth, own, common] = [0, get("separator"), site.joined_by_semicolons ? ";" : "&"];
  const separator = () => (/[&;]/.exec(own[nth++] ?? own.at(-1) ?? "") ?? [common])[0];
  const all = [...(parameters.length ? [parameters.join("&").replace(/&/g, separator)] : []), ...kind("whole query").map((pair) => pair[1])];
  if (all.length || pairs.has("empty query")) url += "?" + all.join("&");
  return url + (pairs.has("fragment") ? "#" + get("fragment") : "");
}
// Parameters as the names stand, the n-th value of a name at its n-th place; those without a place follow.
function ordered(query, names) {
  const placed = names.flatMap((name, i) => {
    const value = query.find((pair) => pair[0] === name)?.[1];
    const [values, nth] = [value?.split("&" + name), names.slice(0, i).filter((before) => before === name).length];
    if (value === undefined || (nth >= values.length && !value.endsWith(name))) return [];
    return [[name, (names.includes(name, i + 1) ? values.slice(nth, nth + 1) : values.slice(nth)).join("&" + name)]];
  });
  return [...placed, ...query.filter(([name]) => !names.includes(name))];
}
// 3. The section of a path: its first directory, as far as the site names it.
function section(path, names) {
  const [, whole, first, slash, member] = /^\/*(([^/]*)(\/*)([^/]*))/.exec(path);
  if (first.length > 1 && first.startsWith("~")) return first;
  if (!slash || /[%;]/.test(first)) return "<other>";
  if (TENANTS.test(first) && member && names.includes(first + "/")) return whole;
  return /^[0-9]*$/.test(first) ? "<number>" : names.includes(first) ? first : "<other>";
}
const decoded = (value, set) => value.replace(/%[0-9A-F]{2}/gi, (e) => (set.includes(unescape(e)) ? unescape(e) : e));
const repeats = (value) => value.split("&").map((part, i) => (i ? named(part)[1] : part));
const FUNCTIONS = {
  "drop-www": (value) => value.replace(/^www\.(?=.*\.)/, ""), "decode-slash": (value) => decoded(value, "/?"),
  "decode-sub-delimiters": (value) => decoded(value, "()!*',:@$"),
  "plus-is-space": (value) => value.replaceAll("+", "%20"), "drop-empty": (value) => value || null,
  "lower-case": (value) => value.replace(/%[0-9A-F]{2}|[A-Z]/gi, (c) => (c.length > 1 ? c : c.toLowerCase())),
  "drop-leading-zeros": (value) => (/^[0-9]+$/.test(value) ? value.replace(/^0+(?=[0-9])/, "") : value),
  "drop-title": (value) => value.replace(/^([0-9]+)(?:[:_-]|%3A)[A-Za-z%][^&]*$/, "$1"),
  ...Object.fromEntries([7, 8, 10, 12].map((n) => ["hash-to-" + n, (value) => (/^[0-9a-f]{40}$/.test(value) ? value.slice(0, n) : value)])),
  "first-repeat": (value) => repeats(value)[0], "last-repeat": (value) => repeats(value).at(-1),
  "sort-repeats": (value) => [...new Set(repeats(value))].sort().join("&" + named(value.split("&")[1] ?? "")[0]),
};
// Whether a value of one key can stand at another one: it holds no delimiter that means something there.
const fits = (value, key) => key.startsWith("query ") ? !/[&#+]/.test(value) : key.startsWith("param ") ? /^[^/?#;]+$/.test(value)
  : key === "host" ? /^[a-z0-9][a-z0-9-]*(\.[a-z0-9][a-z0-9-]*)*$/.test(value) : /^(?!\.\.?$)[^/?#;&+]+$/.test(value);
// 4. A rule: the pairs that it makes of pairs, or null where it does nothing.
function act(rule, pairs, here, origins) {
  const value = (key) => (key === "section" ? here : pairs.get(key));
  const holds = (test) => (test.present === false) === (value(test.key) === undefined) &&
    (test.in?.includes(value(test.key)) ?? true) && !test.not_in?.includes(value(test.key));
  const known = rule.when.filter((test) => test.present !== false).map((test) => test.key);
  if (!rule.when.every(holds) || (rule.whole && [...pairs.keys()].some((key) => !known.includes(key)))) return null;
  const made = new Map(rule.whole ? [] : pairs);
  for (const { key, remove, set, replace, copy, map, apply } of rule.then) {
    const [old, from] = [made.get(key), pairs.get(copy)];
    if (copy !== undefined && (from === undefined || (copy !== key && !fits(from, key)))) return null;
    const mapped = map?.find(([was]) => was === (old ?? null));
    const present = () => (old === undefined ? null : replace ?? (apply ? FUNCTIONS[apply](old) : old));
    const to = remove ? null : set ?? from ?? (mapped ? mapped[1] : present());
    to === null ? made.delete(key) : made.set(key, to);
  }
  const isOther = (key) => made.get(key) !== pairs.get(key);
  if (["scheme", "host"].some(isOther) && !origins.includes(`${made.get("scheme")}://${made.get("host")}`)) return null;
  return rule.whole || [...made.keys(), ...pairs.keys()].some(isOther) ? made : null;
}
// The text and the number of a value that ends in a number behind text; digits of an escape are none.
const inner = (value) => /^(?!.*%.?[0-9]+$)(.*[^0-9])(0|[1-9][0-9]{0,14})$/s.exec(value)?.slice(1) ?? [];
// 5. A site: its rules in order, exceptions, mirrored directories, look-ups and ranges.
class Site {
  constructor(site) {
    Object.assign(this, site, { pages: new Map(), likes: [] });
    const identities = (of = [], made) => of.map(([url, to]) => [identity(made(url).pairs), to]);
    this.except = new Map(identities(site.exceptions, (url) => this.run(url)));
    const lookups = site.lookups?.filter(([url]) => this.plain(url) === url);
    this.pages = new Map(identities(lookups, (url) => this.reduce(url)).reverse());
    for (const range of site.ranges ?? []) {
      const { pairs } = this.reduce(range.like);
      const [text] = range.inner ? inner(pairs.get(range.key) ?? "") : [""];
      if (pairs.delete(range.key) && text !== undefined) this.likes.push({ ...range, text, id: identity(pairs) });
    }
    const own = new Set([...this.pages.values(), ...this.likes.map(({ page }) => page)].filter((page) => this.twice(page) === page));
    this.pages = new Map([...this.pages].filter(([, page]) => own.has(page)));
    this.likes = this.likes.filter(({ page }) => own.has(page));
  }
  run(url, without, here = section(split(url)[1], this.sections)) {
    return this.rules.filter(({ id }) => without !== "*" && without !== id).reduce((before, rule) => {
      const pairs = rule.when[0]?.key === "prefix" ? null : act(rule, before.pairs, here, this.origins);
      return pairs ? { pairs, fired: true } : before;
    }, { pairs: cut(url, this), fired: false });
  }
  excepted(url, made = this.run(url), rule = made.fired && this.except.get(identity(made.pairs))) {
    return rule ? this.run(url, rule) : made;
  }
  reduce(url) {
    const [made, from] = [this.excepted(url)].flatMap((one) => [one, compose(one.pairs, this)]);
    const mirrors = this.rules.filter(({ when }) => when[0]?.key === "prefix" && from.startsWith(when[0].in[0] + "/"));
    const [mirror] = mirrors.sort((a, b) => b.when[0].in[0].length - a.when[0].in[0].length);
    const twin = mirror && mirror.then[0].set + from.slice(mirror.when[0].in[0].length);
    return twin && this.has(twin) ? { pairs: this.excepted(twin).pairs, fired: true } : made;
  }
  page(pairs) {
    const hits = (range) => {
      const [like, value, numbers] = [new Map(pairs), pairs.get(range.key) ?? "", range.numbers];
      const [text, number] = range.inner ? inner(value) : ["", value];
      const isIn = !numbers || (/^(?:0|[1-9][0-9]{0,14})$/.test(number) && numbers[0] <= number && number <= numbers[1]);
      return (like.delete(range.key) || range.absent) && isIn && text === range.text && identity(like) === range.id;
    };
    return this.pages.get(identity(pairs)) ?? this.likes.find(hits)?.page;
  }
  has = (url) => SAFE.test(url) && this.origins.includes(split(url)[0]);
  plain = (url) => this.fragments || /^[!/]/.test(split(url)[3] ?? "!") ? url : url.replace(/#.*/, "");
  result = ({ pairs, fired }, otherwise) => this.page(pairs) ?? (fired ? compose(pairs, this) : otherwise);
  // What the rules make of a URL on the site in normal form; itself, where it is canonical.
  twice = (url) => this.has(url) && this.plain(url) === url && this.result({ ...this.reduce(url), fired: true });
  canonical = (url, plain = this.plain(url), made = this.result(this.reduce(plain), plain)) =>
    made === plain ? made : [made, this.twice(made)].find((one) => one && this.twice(one) === one) ?? plain;
}
// 6. A file: the canonical URL of each URL. One that is not in safe syntax, or on an origin of no site or two, stays as it is.
function load(text) {
  const owners = new Map();
  for (const site of JSON.parse(text).sites.map((one) => new Site(one)))
    for (const of of site.origins) owners.set(of, owners.has(of) || site.shared?.includes(of) ? null : site);
  return (url) => (SAFE.test(url) && /^https?:\/\/[^/?#]+\//.test(url) && owners.get(split(url)[0])?.canonical(url)) || url;
}
module.exports = { load };
