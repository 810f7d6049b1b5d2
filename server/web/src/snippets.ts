// A request as a program that sends it by the client of a language.

export interface Asked {
    path: string;
    body: unknown;
    curl: string;
}

const WIDTH = 100; // of a line, from which on it is split

/** How a language writes a value that JSON can hold. */
interface Literals {
    scalar: (value: unknown) => string;
    list: [string, string];
    map: [string, string];
    entry: (key: string, value: string) => string;
}

/** The value in the words of a language, on one line where it is short enough. */
function literal(value: unknown, words: Literals, indent: string): string {
    const isList = Array.isArray(value);
    if (typeof value !== "object" || value === null) return words.scalar(value);
    const [open, close] = isList ? words.list : words.map;
    const inner = `${indent}    `;
    const parts = isList
        ? value.map((one) => literal(one, words, inner))
        : Object.entries(value)
              .filter(([, one]) => one !== undefined)
              .map(([key, one]) => words.entry(key, literal(one, words, inner)));
    const line = `${open}${parts.join(", ")}${close}`;
    if (parts.length === 0 || (line.length + indent.length < WIDTH && !line.includes("\n"))) return line;
    return `${open.trimEnd()}\n${parts.map((part) => `${inner}${part},`).join("\n")}\n${indent}${close.trimStart()}`;
}

const json = (value: unknown) => JSON.stringify(value);
const inJs: Literals = { scalar: json, list: ["[", "]"], map: ["{ ", " }"], entry: (key, value) => `${/^[a-z_]\w*$/i.test(key) ? key : json(key)}: ${value}` };
const inPython: Literals = {
    scalar: (value) => (value === true ? "True" : value === false ? "False" : value === null ? "None" : json(value)),
    list: ["[", "]"],
    map: ["{", "}"],
    entry: (key, value) => `${json(key)}: ${value}`,
};
const inCsharp: Literals = { scalar: json, list: ["new object[] { ", " }"], map: ["new ObbdMap { ", " }"], entry: (key, value) => `{ ${json(key)}, ${value} }` };

const typescript = ({ path, body }: Asked, url: string) => `import { connect } from "@obbd/client";

const obbd = connect(${json(url)});
const { value } = await obbd.request("POST", ${json(path)}, ${literal(body, inJs, "")});
console.log(JSON.stringify(value));`;

const python = ({ path, body }: Asked, url: string) => `import obbd

with obbd.connect(${json(url)}) as db:
    print(db.request("POST", ${json(path)}, ${literal(body, inPython, "    ")}).value)`;

const csharp = ({ path, body }: Asked, url: string) => `using System;
using Obbd;

static class Program
{
    static void Main()
    {
        var obbd = new ObbdClient(${json(url)});
        var reply = obbd.Request("POST", ${json(path)}, ${literal(body, inCsharp, "        ")});
        Console.WriteLine(reply.Value);
    }
}`;

const c = ({ path, body }: Asked, url: string) => `#include <stdio.h>

#include "obbd.h"

int main(void)
{
    obbd *o = obbd_open(${json(url)}, NULL);
    const obbd_reply *reply = obbd_request(o, "POST", ${json(path)},
        ${json(json(body))}, NULL);
    puts(reply ? reply->body : obbd_why(o)->text);
    obbd_close(o);
    return !reply;
}`;

/** By the name of the language: the program, for the daemon at `url`. */
export const SNIPPETS: Record<string, (asked: Asked, url: string) => string> = {
    curl: ({ curl }) => curl,
    TypeScript: typescript,
    Python: python,
    "C#": csharp,
    C: c,
};
