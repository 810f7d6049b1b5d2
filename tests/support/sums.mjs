// Tests under node, with sums in the form that tests/run.sh counts.
const LIMIT_MS = 120_000 * Number(process.env.TIMEOUT_FACTOR ?? 1); // of one test
const tests = [];

/** Waits for the work, as long as a test may take. */
async function inTime(work) {
    let timer;
    const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error(`not ended after ${LIMIT_MS} ms`)), LIMIT_MS)));
    try {
        await Promise.race([work(), late]);
    } finally {
        clearTimeout(timer);
    }
}

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
            await inTime(work);
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
