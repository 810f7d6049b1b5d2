// js_driver.mjs URL - plays what a test under Python says with the JavaScript client: one JSON object a line on standard input, one a line
// as the answer, which has `value`, or `error` with the name of what was thrown. {"do": "commit", "commit"}, {"do": "read", "read"} and
// {"do": "query", "query"} are about the scene `yard`.
import { createInterface } from "node:readline";
import { obbd } from "./js.mjs";

const client = obbd.connect(process.argv[2]);
const yard = client.scene("yard");
const acts = {
    commit: ({ commit }) => yard.commit(commit),
    read: ({ read }) => yard.info(read),
    query: ({ query }) => yard.query(query),
};

for await (const line of createInterface({ input: process.stdin })) {
    const step = JSON.parse(line);
    const told = await acts[step.do](step).then(
        (value) => ({ value }),
        (error) => ({ error: error.name, text: error.message }),
    );
    console.log(JSON.stringify(told));
}
await client.close();
