// docs.mjs OUT DOCUMENT EXCHANGES GUIDE - makes the reference of the API as a page for reading, of the OpenAPI document, the exchanges
// that are its examples, and the page of the concepts in the folder GUIDE, and packs it into OUT. The page has no script.
import { readFileSync } from "node:fs";
import { embed } from "./embed.mjs";

const [out, documentFile, exchangesFile, guide] = process.argv.slice(2);
const contract = JSON.parse(readFileSync(documentFile, "utf8"));
const exchanges = readFileSync(exchangesFile, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
const { schemas } = contract.components;

// ---- Text ------------------------------------------------------------------------------------------

const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

/** Of Markdown, what the descriptions use: paragraphs, lists, code and bold words. */
const inline = (text) => escaped(text).replace(/`([^`]+)`/g, "<code>$1</code>").replace(/\*\*([^*]+)\*\*/g, "<strong>$1</strong>");
function prose(text = "") {
    return text
        .trim()
        .split(/\n\s*\n/)
        .filter((part) => part !== "")
        .map((part) =>
            part.startsWith("- ")
                ? `<ul>${part.split(/\n?^- /m).slice(1).map((item) => `<li>${inline(item)}</li>`).join("")}</ul>`
                : `<p>${inline(part)}</p>`,
        )
        .join("");
}

// ---- Schemas ---------------------------------------------------------------------------------------

const followed = (at) => (at.$ref === undefined ? at : at.$ref.slice(2).split("/").reduce((value, key) => value[key], contract));
const word = (value) => `<code>${escaped(JSON.stringify(value))}</code>`;
/** A schema of the document by a link; what stands inside of one, in words. */
function link(reference) {
    const [, , place, name, ...inside] = reference.split("/");
    return place === "schemas" && inside.length === 0 ? `<a href="#schema-${name}">${name}</a>` : type(followed({ $ref: reference }));
}

function range({ minimum, exclusiveMinimum, maximum, minItems, maxItems, minLength, maxLength, pattern }) {
    const least = exclusiveMinimum !== undefined ? `above ${exclusiveMinimum}` : minimum !== undefined ? `from ${minimum}` : "";
    const words = [least, maximum !== undefined ? `up to ${maximum}` : ""];
    if (minItems !== undefined || maxItems !== undefined)
        words.push(minItems === maxItems ? `${minItems} items` : `${minItems ?? 0}${maxItems === undefined ? " or more" : ` to ${maxItems}`} items`);
    if (minLength !== undefined || maxLength !== undefined) words.push(`${minLength ?? 0} to ${maxLength ?? "any"} characters`);
    if (pattern !== undefined) words.push(`like <code>${escaped(pattern)}</code>`);
    return words.filter(Boolean).join(" ");
}

/** A type in a few words. */
function type(schema) {
    if (schema === true) return "anything";
    if (schema.$ref !== undefined) return link(schema.$ref);
    if (schema.const !== undefined) return word(schema.const);
    if (schema.enum !== undefined) return schema.enum.map(word).join(" or ");
    const either = schema.oneOf ?? schema.anyOf;
    if (either !== undefined && either.every((one) => one.required === undefined || one.properties !== undefined)) return either.map(type).join(" or ");
    if (schema.type === "array") return `array${schema.items === undefined ? "" : ` of ${type(schema.items)}`}${around(range(schema))}`;
    if (schema.additionalProperties?.$ref !== undefined) return `object of ${type(schema.additionalProperties)} by ${type(schema.propertyNames ?? { type: "string" })}`;
    const bases = schema.allOf?.filter((one) => one.$ref !== undefined) ?? [];
    if (bases.length > 0) return bases.map(type).join(" and ");
    const types = [schema.type ?? "anything"].flat().join(" or ");
    return types + around(range(schema));
}
const around = (text) => (text === "" ? "" : `, ${text}`);

function field(name, schema, required) {
    const given = schema.default === undefined ? "" : `, ${word(schema.default)} by default`;
    const items = schema.type === "array" && schema.items?.$ref === undefined ? schema.items : undefined;
    const below = schema.$ref === undefined ? fields(items?.properties === undefined ? schema : items) : "";
    return `<li><code class="name">${escaped(name)}</code> <span class="type">${type(schema)}${given}${required ? ", <em>required</em>" : ""}</span>${prose(schema.description)}${below}</li>`;
}

function fields(schema) {
    const required = new Set(schema.required ?? []);
    const rows = Object.entries(schema.properties ?? {}).map(([name, one]) => field(name, one, required.has(name)));
    return rows.length === 0 ? "" : `<ul class="fields">${rows.join("")}</ul>`;
}

/** The body of a schema: what it is made of, its forms, its own fields. */
function body(schema) {
    const parts = [];
    if (schema.allOf !== undefined) {
        const bases = schema.allOf.filter((one) => one.$ref !== undefined);
        if (bases.length > 0) parts.push(`<p>All of ${bases.map(type).join(", ")}${schema.properties === undefined ? "" : ", and"}:</p>`);
        parts.push(...schema.allOf.filter((one) => one.$ref === undefined).map(fields));
    }
    const either = schema.oneOf ?? schema.anyOf;
    const forms = either?.filter((one) => one.$ref !== undefined || one.type !== undefined || one.properties !== undefined) ?? [];
    if (schema.discriminator !== undefined) {
        const rows = Object.entries(schema.discriminator.mapping).map(([value, reference]) => `<li>${word(value)}: ${link(reference)}</li>`);
        parts.push(`<p>By <code>${schema.discriminator.propertyName}</code>:</p><ul>${rows.join("")}</ul>`);
    } else if (forms.length > 0) {
        const shown = forms.map((one) => (one.properties === undefined ? `<li>${type(one)}</li>` : `<li>${fields(one)}</li>`));
        parts.push(`<p>One of:</p><ul>${shown.join("")}</ul>`);
    }
    parts.push(fields(schema));
    const text = parts.join("");
    return text === "" ? `<p class="type">${type(schema)}</p>` : text;
}

// ---- Operations ------------------------------------------------------------------------------------

const METHODS = ["get", "put", "post", "patch", "delete"];
const operations = Object.entries(contract.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method] !== undefined).map((method) => ({
        path,
        method,
        ...item[method],
        pattern: new RegExp(`^${path.replace(/\{\w+\}/g, "[^/?]+")}(\\?|$)`),
        parameters: [...(item.parameters ?? []), ...(item[method].parameters ?? [])].map(followed),
        shown: [],
    })),
);
const recipes = [];
for (const exchange of exchanges) {
    const operation = operations.find(({ method, pattern }) => method === exchange.method.toLowerCase() && pattern.test(exchange.target));
    if (exchange.title.startsWith("Cookbook: ")) recipes.push(exchange);
    else operation?.shown.push(exchange);
}

function message(first, headers, text) {
    const lines = [first, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)];
    return escaped(text === null ? lines.join("\n") : `${lines.join("\n")}\n\n${text}`);
}

function exchanged({ title, words, method, target, headers, request, status, expected, answer }) {
    const asked = message(`${method} ${target}`, headers, request);
    const answered = message(`${status}`, expected, answer);
    return `<details><summary>${inline(title)}</summary>${prose(words ?? "")}<pre>${asked}</pre><pre class="answer">${answered}</pre></details>`;
}

const media = (content = {}) => {
    const types = new Map();
    for (const [name, { schema, "x-line": line, "x-events": events }] of Object.entries(content)) {
        const what = events !== undefined
            ? `the events ${Object.entries(events).map(([event, one]) => `<code>${event}</code> (${type(one)})`).join(", ")}`
            : line !== undefined ? `lines of ${type(line)}` : type(schema);
        types.set(what, [...(types.get(what) ?? []), `<code>${name}</code>`]);
    }
    return [...types].map(([what, names]) => `${what} <span class="media">as ${names.join(" or ")}</span>`).join("; ");
};

function operation({ operationId, method, path, summary, description, parameters, requestBody, responses, shown }) {
    const asked = requestBody === undefined ? undefined : followed(requestBody);
    const rows = parameters.map(({ name, in: place, required, schema, description: words }) =>
        field(name, { ...schema, description: words ?? schema.description }, required === true).replace("</code>", `</code> <span class="place">${place}</span>`),
    );
    const answers = Object.entries(responses).map(([status, reference]) => {
        const { description: words, content, headers } = followed(reference);
        const fieldsOf = Object.keys(headers ?? {}).map((name) => `<code>${name}</code>`);
        const lines = [media(content), fieldsOf.length > 0 ? `header ${fieldsOf.join(", ")}` : ""].filter(Boolean);
        return `<li><code class="status">${status}</code> ${inline(words.trim())} <span class="type">${lines.join("; ")}</span></li>`;
    });
    return `<article id="${operationId}"><h3><span class="method ${method}">${method.toUpperCase()}</span> <code>${path}</code></h3>
<p class="summary">${inline(summary)}</p>${prose(description)}
${rows.length > 0 ? `<h4>Parameters</h4><ul class="fields">${rows.join("")}</ul>` : ""}
${asked !== undefined ? `<h4>Body</h4><p>${media(asked.content)}${asked.required === true ? ", required" : ", may be absent"}</p>` : ""}
<h4>Answers</h4><ul class="fields">${answers.join("")}</ul>
${shown.length > 0 ? `<h4>Exchanges</h4>${shown.map(exchanged).join("")}` : ""}</article>`;
}

// ---- Concepts --------------------------------------------------------------------------------------

/** The colours of the pictures, and those that take their place in the dark. */
const DARK = {
    "#fbfcfd": "#191e24", "#eff2f5": "#232a32", "#18212a": "#e6ebf0", "#26313b": "#b9c4ce", "#55626e": "#9dabb8", "#b9c4ce": "#55626e",
    "#c5ced7": "#44515d", "#a3b8cd": "#3f5468", "#dbe9fa": "#1c3451", "#0b63c4": "#6cb3f5", "#7432c9": "#c39bff", "#1d7a43": "#62cf8f",
    "#0f9d63": "#3fc78d", "#3f9142": "#62cf8f", "#b3261e": "#ff8f83", "#cf4a41": "#ff8f83",
};
const inDark = (svg) =>
    svg.replace(/#[0-9a-f]{3,8}\b/gi, (colour) => {
        if (DARK[colour] === undefined) throw new Error(`a picture has the colour ${colour}, which has none for the dark`);
        return DARK[colour];
    });

/** A section of the guide: a word, its picture, and what is said about it. Links lead to files, which the page does not have. */
function concept(section) {
    const [, name, alt, picture, text] = /^(.*)\n\n!\[(.*)\]\((.*)\)\n([\s\S]*)$/.exec(section);
    const svg = readFileSync(`${guide}/${picture}`, "utf8");
    const [light, dark] = [svg, inDark(svg)].map((one) => `data:image/svg+xml;base64,${Buffer.from(one).toString("base64")}`);
    const source = `<source media="(prefers-color-scheme: dark)" srcset="${dark}">`;
    const said = text.replace(/\[([^\]]+)\]\([^)]+\)/g, "$1").replace(/^Shown by (.*)$/ms, "Shown by exchanges: $1");
    return `<h3>${name}</h3><picture>${source}<img src="${light}" alt="${escaped(alt)}" width="560" height="190"></picture>${prose(said)}`;
}
const concepts = readFileSync(`${guide}/README.md`, "utf8").split("\n## ").slice(1).map(concept);

// ---- The page --------------------------------------------------------------------------------------

const sections = contract.tags.map(({ name, description }) => ({
    name,
    description,
    list: operations.filter(({ tags }) => tags.includes(name)),
}));
const stray = operations.filter((one) => !sections.some(({ list }) => list.includes(one)));
if (stray.length > 0) throw new Error(`no tag has ${stray.map(({ operationId }) => operationId)}`);
const title = (name) => name[0].toUpperCase() + name.slice(1);

const menu = [
    `<li><a href="#concepts">Concepts</a></li><li><a href="#conventions">Conventions</a></li><li><a href="#tokens">Tokens</a></li><li><a href="#cookbook">Cookbook</a></li>`,
    ...sections.map(
        ({ name, list }) =>
            `<li><a href="#tag-${name}">${title(name)}</a><ul>${list.map((one) => `<li><a href="#${one.operationId}">${inline(one.summary)}</a></li>`).join("")}</ul></li>`,
    ),
    `<li><a href="#schemas">Objects</a></li>`,
];
const [introduction, conventions] = contract.info.description.split("**Conventions**");
if (conventions === undefined) throw new Error("the description of the API has no part **Conventions**");
const style = readFileSync(new URL("src/docs.css", import.meta.url), "utf8").trim();
const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>obbd: reference of the API</title>
<link rel="icon" href="data:,">
<style>${style}</style>
<nav aria-label="Contents"><p class="brand">obbd, API version ${contract.info.version}</p><ul>${menu.join("")}</ul></nav>
<main>
<h1>${inline(contract.info.summary)}</h1>
<p>The reference of the API, version ${contract.info.version}. The same as a document for programs: <a href="/openapi.json">/openapi.json</a>. The
<a href="/">web editor</a> shows the scenes of this daemon.</p>
${prose(introduction)}
<section id="concepts"><h2>Concepts</h2>${concepts.join("\n")}</section>
<section id="conventions"><h2>Conventions</h2>${prose(conventions)}</section>
<section id="tokens"><h2>Tokens</h2>${prose(contract.components.securitySchemes.token.description)}</section>
<section id="cookbook"><h2>Cookbook</h2><p>Eight common questions, each as request and answer.</p>
${recipes.map((one) => exchanged({ ...one, title: title(one.title.slice("Cookbook: ".length)) })).join("\n")}</section>
${sections.map(({ name, description, list }) => `<section id="tag-${name}"><h2>${title(name)}</h2>${prose(description)}${list.map(operation).join("\n")}</section>`).join("\n")}
<section id="schemas"><h2>Objects</h2>
${Object.entries(schemas).map(([name, schema]) => `<article id="schema-${name}"><h3>${name}</h3>${prose(schema.description)}${body(schema)}</article>`).join("\n")}
</section>
</main>
</html>
`;

const ids = new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));
const lost = [...html.matchAll(/href="#([^"]+)"/g)].filter(([, id]) => !ids.has(id)).map(([, id]) => id);
if (lost.length > 0) throw new Error(`links lead nowhere: ${[...new Set(lost)]}`);
embed(out, "DOCS", html, { style, limit: 150_000 });
