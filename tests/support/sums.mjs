// Tests under node, with sums in the form that tests/run.sh counts.
const tests = [];

/** A test; tests run in the order in which they stand. */
export function test(name, work) {
    tests.push({ name, work });
}

/** Runs all and prints the sums. */
export async function run() {
    let failures = 0;
    const picked = tests.filter(({ name }) => name.includes(process.env.ONLY ?? ""));
    for (const { name, work } of picked) {
        const begin = Date.now();
        try {
            await work();
            console.log(`${name}: ok, ${Date.now() - begin} ms`);
        } catch (error) {
            failures++;
            console.log(`${name}: FAILED, ${error.stack}`);
        }
    }
    const share = Math.floor((100 * (picked.length - failures)) / Math.max(1, picked.length));
    console.log(`${share}%: Checks: ${picked.length}, Failures: ${failures}, Errors: 0`);
    return failures === 0 && picked.length > 0;
}
