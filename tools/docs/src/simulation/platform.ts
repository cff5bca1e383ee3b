import type { LinkTimes } from '@coll/core/schedule';

/** A machine as `cost` models it: workers in a star, and the ranks of each worker in a star. */
export interface Machine {
  readonly ranks: number;
  readonly ranksPerWorker: number;
  /** Between workers. */
  readonly across: LinkTimes;
  /** Between the ranks of a worker. */
  readonly within: LinkTimes;
}

/** The simulator prints whole microseconds, so simulated time is this many times longer than real time. */
export const slowness = 1e4;

/** The speed of a simulated host, in operations per second. The traces state how many operations a byte takes. */
const speed = '1Gf';

/**
 * A platform file of SimGrid: a host per rank, and two links per port, one for each direction. Each link
 * has half the latency.
 */
export function platformOf(machine: Machine): string {
  const ranks = Array.from({ length: machine.ranks }, (_, rank) => rank);
  const workers = ranks.slice(0, machine.ranks / machine.ranksPerWorker);
  const routes = ranks.flatMap((from) => ranks.filter((to) => to !== from).map((to) => routeOf(machine, from, to)));
  return [
    '<?xml version="1.0"?>',
    '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">',
    '<platform version="4.1">',
    '<zone id="star" routing="Full">',
    ...ranks.map((rank) => `<host id="rank${rank}" speed="${speed}"/>`),
    ...ranks.flatMap((rank) => portOf(`rank${rank}`, machine.within)),
    ...workers.flatMap((worker) => portOf(`worker${worker}`, machine.across)),
    ...routes,
    '</zone>',
    '</platform>',
    '',
  ].join('\n');
}

function portOf(owner: string, { alpha, beta }: LinkTimes): string[] {
  const times = `bandwidth="${1 / (beta * slowness)}Bps" latency="${(alpha / 2) * slowness}s"`;
  return [`<link id="${owner}-up" ${times}/>`, `<link id="${owner}-down" ${times}/>`];
}

function routeOf({ ranksPerWorker }: Machine, from: number, to: number): string {
  const [source, target] = [from, to].map((rank) => Math.floor(rank / ranksPerWorker));
  const [up, down] = source === target ? [`rank${from}`, `rank${to}`] : [`worker${source}`, `worker${target}`];
  const links = `<link_ctn id="${up}-up"/><link_ctn id="${down}-down"/>`;
  return `<route src="rank${from}" dst="rank${to}" symmetrical="NO">${links}</route>`;
}
