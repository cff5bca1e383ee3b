import { NcclCommunicator } from '@coll/nccl';
import { Arena, amount } from '../arena.js';
import { atMost, type Expectation, rounded } from '../expectation.js';
import { inTurn, ours } from '../in-turn.js';
import { OtherProgram } from '../other-program.js';
import type { Step } from '../step.js';

const largeBytes = 64 * 2 ** 10;
const sum = { kind: 'all-reduce', op: 'sum' } as const;
const manners = { 'in a row': false, 'one by one': true } as const;

/** The time of a call in C, and in this library. */
interface Row {
  readonly manner: string;
  readonly bytes: number;
  readonly nanosecondsInC: number;
  readonly nanosecondsHere: number;
}

/**
 * All-reduce with one rank, out of place. NCCL executes it as a copy, so the rest of the time is the cost
 * of the call.
 */
export const overhead: Step = {
  claim: 'a call costs little more than in C; nothing about communication',
  seconds: 60,
  isBenchmark: true,
  async run() {
    const mebibytes = amount(256, 1);
    await using inC = await OtherProgram.inC(mebibytes);
    using arena = await Arena.of(mebibytes);
    await using communicator = await NcclCommunicator.open(['gpu:0']);
    const here = ours((call, bytes) => {
      const [from, into] = [arena.from, arena.into].map((all) => all.view(arena.place(call, bytes) / 4, bytes / 4));
      return communicator.run(sum, [(from as typeof arena.from).tensor()], [(into as typeof arena.into).tensor()]);
    });
    const there = inC.times.bind(inC, 'all-reduce');
    await here({ bytes: 4, calls: amount(5000, 4), repetitions: 1, isEach: true });
    const rows: Row[] = [];
    for (const [manner, isEach] of Object.entries(manners)) {
      for (const bytes of sizes()) {
        const timing = { bytes, calls: amount(64, 4), repetitions: amount(5, 1), isEach };
        const [nanosecondsInC, nanosecondsHere] = (await inTurn([there, here], amount(8, 2), timing)) as [
          number,
          number,
        ];
        rows.push({
          manner,
          bytes,
          nanosecondsInC: rounded(nanosecondsInC),
          nanosecondsHere: rounded(nanosecondsHere),
        });
      }
    }
    const facts = { nccl: inC.facts, nanoseconds: 'a call, medians of 40 repetitions of 64 calls', rows };
    return { facts, expectations: Object.keys(manners).flatMap((manner) => judged(rows, manner)) };
  },
};

/** 4 B to 64 MiB. */
function sizes(): number[] {
  const exponents = Array.from({ length: 13 }, (_, index) => index + 1);
  return exponents.map((exponent) => 4 ** exponent).filter((bytes) => bytes <= amount(64 * 2 ** 20, 2 ** 20));
}

/** Judges the worst size. */
function judged(rows: readonly Row[], manner: string): Expectation[] {
  const own = rows.filter((row) => row.manner === manner);
  const [small, large] = [
    own.filter(({ bytes }) => bytes < largeBytes),
    own.filter(({ bytes }) => bytes >= largeBytes),
  ];
  const more = small.map(({ nanosecondsInC, nanosecondsHere }) => (nanosecondsHere - nanosecondsInC) / 1000);
  const ratios = large.map(({ nanosecondsInC, nanosecondsHere }) => nanosecondsHere / nanosecondsInC);
  return [
    atMost(5, 'µs more than C', `calls ${manner}, below 64 KiB`, Math.max(...more)),
    atMost(1.1, 'times C', `calls ${manner}, from 64 KiB up`, Math.max(...ratios)),
  ];
}
