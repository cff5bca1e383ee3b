import { bytesText, secondsText } from '../support/quantities.js';
import type { ProcessGroup } from './process-group.js';

/** The measured speed of a kind of links. */
export interface LinkSpeed {
  /** Seconds from the send of an empty message to its receipt. */
  readonly latencySeconds: number;
  /** Bytes that a link transmits per second. */
  readonly bytesPerSecond: number;
}

/** The measured speeds of a group's links. */
export interface LinkSpeeds {
  /** Links between hosts, or between all members if there is only one kind of link. */
  readonly across: LinkSpeed;
  /** Links between members of one host, if they were measured apart from those between hosts. */
  readonly within?: LinkSpeed | undefined;
}

/** What the choice of algorithms has measured in a group. */
export interface LinkMeasurement {
  readonly speeds: LinkSpeeds;
  /** Estimates the seconds that this member has spent in collectives, including waits for other members. */
  secondsInCalls(): number;
}

const measurements = new WeakMap<ProcessGroup, LinkMeasurement>();

/** Keeps the measurement of a group, for the explanation and the log of the group. */
export function setLinkMeasurement(group: ProcessGroup, measurement: LinkMeasurement): void {
  measurements.set(group, measurement);
}

/** The measurement of a group; undefined until its links have been measured. */
export function linkMeasurementOf(group: ProcessGroup): LinkMeasurement | undefined {
  return measurements.get(group);
}

/** The speeds as text: `25 µs and 1.2 GB/s between hosts, 1.1 µs and 9.8 GB/s within hosts`. */
export function speedsText({ across, within }: LinkSpeeds): string {
  const text = ({ latencySeconds, bytesPerSecond }: LinkSpeed) =>
    `${secondsText(latencySeconds)} and ${bytesText(bytesPerSecond)}/s`;
  if (!within) return `${text(across)} per link`;
  return `${text(across)} between hosts, ${text(within)} within hosts`;
}
