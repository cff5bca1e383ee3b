import { type Cost, type CostOptions, cost } from '@coll/core/schedule';
import { counted, formatBytes, formatSeconds } from '../format.ts';
import { networks } from '../prices/networks.ts';
import { choices } from './choices.ts';
import { mustBe, type Plan, planWith } from './plan.ts';
import type { State } from './state.ts';

/** A number of the described network, as an input of the page. */
interface Field {
  readonly name: keyof State;
  readonly title: string;
  /** Whether the number describes links within a worker. */
  readonly isInner: boolean;
  readonly least: number;
}

// The smallest rate that the page accepts: a megabit or a megabyte per second.
const slowest = 0.001;

export const fields: readonly Field[] = [
  { name: 'size', title: 'Buffer (KiB)', isInner: false, least: 0 },
  { name: 'latency', title: 'Latency (µs)', isInner: false, least: 0 },
  { name: 'bandwidth', title: 'Bandwidth per port (Gbit/s)', isInner: false, least: slowest },
  { name: 'overhead', title: 'Overhead per message (µs)', isInner: false, least: 0 },
  { name: 'combining', title: 'Combining (GB/s)', isInner: false, least: slowest },
  { name: 'innerLatency', title: 'Latency within a worker (µs)', isInner: true, least: 0 },
  { name: 'innerBandwidth', title: 'Bandwidth within a worker (Gbit/s)', isInner: true, least: slowest },
  { name: 'innerOverhead', title: 'Overhead within a worker (µs)', isInner: true, least: 0 },
];

/** Known networks, by name: the fields of a state that they set. */
export const presets: readonly { readonly name: string; readonly fields: Partial<State> }[] = networks.map(
  ({ name, words, times: { alpha, beta, overhead = 0 } }) => ({
    name: `${name}: ${words}`,
    fields: { latency: rounded(alpha * 1e6), bandwidth: rounded(8e-9 / beta), overhead: rounded(overhead * 1e6) },
  }),
);

/** The cost of an algorithm, as the page shows it. */
export interface Price {
  readonly name: string;
  readonly title: string;
  readonly seconds: string;
  readonly rounds: string;
  /** The most bytes that any rank sends. */
  readonly sent: string;
  readonly busiestLink: string;
}

/** The cost of a plan on the network of a state, or a message for the visitor about an invalid number. */
export function priceOf(plan: Plan, state: State): Price | string {
  return problemOf(state) ?? priceWith(plan, cost(plan.schedule, optionsOf(state)));
}

/** The cost of every algorithm that supports the collective and the ranks of a valid plan, the fastest one first. */
export function pricesOf(state: State): readonly Price[] {
  if (problemOf(state) !== undefined) return [];
  const plans = choices.map((choice) => planWith(choice, state)).filter((plan) => typeof plan !== 'string');
  const priced = plans.map((plan) => ({ plan, cost: cost(plan.schedule, optionsOf(state)) }));
  return priced
    .toSorted((one, other) => one.cost.seconds - other.cost.seconds)
    .map((each) => priceWith(each.plan, each.cost));
}

function priceWith(
  { choice: { name, title } }: Plan,
  { seconds, rounds, bytesPerRank, busiestLink: link }: Cost,
): Price {
  const sizeOf = (bytes: number) => formatBytes(Math.ceil(bytes));
  return {
    name,
    title,
    seconds: formatSeconds(seconds),
    rounds: counted(rounds, 'round'),
    sent: sizeOf(bytesPerRank),
    busiestLink: link ? `${sizeOf(link.bytes)} from rank ${link.from} to rank ${link.to}` : 'nothing moves',
  };
}

function problemOf(state: State): string | undefined {
  const { ranksPerWorker } = state;
  const used = fields.filter(({ isInner }) => !isInner || ranksPerWorker > 1);
  const wrong = used.find(
    ({ name, least }) => !((state[name] as number) >= least && (state[name] as number) < Infinity),
  );
  return wrong && mustBe(wrong.title, `a number of at least ${wrong.least}`, state[wrong.name]);
}

function optionsOf(state: State): CostOptions {
  const { collective: kind, ranksPerWorker, innerLatency, innerBandwidth, innerOverhead } = state;
  const within = { ...timesOf(innerLatency, innerBandwidth, innerOverhead), ranksPerWorker };
  return {
    ...timesOf(state.latency, state.bandwidth, state.overhead),
    kind,
    bytes: state.size * 1024,
    gamma: 1e-9 / state.combining,
    ...(ranksPerWorker > 1 && { workers: within }),
  };
}

function timesOf(latency: number, bandwidth: number, overhead: number) {
  return { alpha: latency * 1e-6, beta: 8e-9 / bandwidth, overhead: overhead * 1e-6 };
}

/** Removes the rounding error of a conversion between units. */
function rounded(value: number): number {
  return Number(value.toPrecision(9));
}
