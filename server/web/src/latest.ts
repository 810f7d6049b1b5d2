/** Work that is done one at a time, however often it is asked for: what comes up meanwhile is done once more afterwards. */
export class Latest {
    private busy = false;
    private again = false;

    /** `idle` is called when there is nothing left to do. */
    constructor(
        private readonly work: () => Promise<void>,
        private readonly idle: () => void = () => {},
    ) {}

    get running(): boolean {
        return this.busy;
    }

    ask(): void {
        this.again = true;
        if (!this.busy) void this.run();
    }

    private async run(): Promise<void> {
        this.busy = true;
        while (this.again) {
            this.again = false;
            await this.work();
        }
        this.busy = false;
        this.idle();
    }
}
