import type { Subject } from './subject.js';

/** A property that executors have, for one group size and algorithm. Fails by throwing. */
export type ExecutorCase = (subject: Subject) => Promise<void>;

/** Cases by the name of their test, which completes the name of the executor. */
export type ExecutorCases = Readonly<Record<string, ExecutorCase>>;
