import { ValueError } from '@coll/core';
import { quote } from '@coll/core/internal';

/**
 * Sizes in bytes from which the native engine executes collectives in another way. They change how
 * long a collective takes, never its bits.
 */
export interface Thresholds {
  /**
   * Inputs up to this size travel with the word that says that a rank has arrived, 32 to 1984.
   * Default on a machine that was not measured: 1024.
   */
  readonly smallBytes: number;
  /**
   * The blocks in which ranks in different processes exchange ordinary arrays, 16384 to 262144.
   * Default: 262144.
   */
  readonly blockBytes: number;
  /**
   * Results from this size on are written past the caches if they do not replace their inputs.
   * Default: 8 MiB.
   */
  readonly streamedBytes: number;
  /** The inputs of all ranks from which on helper threads take part in a call. Default: 131072. */
  readonly helpedBytes: number;
  /** The inputs of all ranks for which one sleeping helper thread is woken. Default: 4 MiB. */
  readonly wakingBytes: number;
}

/** The thresholds of machines that were not measured. */
export const usualThresholds: Thresholds = {
  smallBytes: 1024,
  blockBytes: 256 * 1024,
  streamedBytes: 8 * 1024 ** 2,
  helpedBytes: 128 * 1024,
  wakingBytes: 4 * 1024 ** 2,
};

const names = Object.keys(usualThresholds) as (keyof Thresholds)[];

const largest = 2 ** 40;
const limits: Readonly<Record<keyof Thresholds, readonly [least: number, most: number]>> = {
  smallBytes: [32, 1984],
  blockBytes: [16 * 1024, 256 * 1024],
  streamedBytes: [0, largest],
  helpedBytes: [0, largest],
  wakingBytes: [1, largest],
};

/** The thresholds in the order in which the addon takes them. */
export type ThresholdList = readonly number[];

export function listOf(thresholds: Thresholds): ThresholdList {
  return names.map((name) => thresholds[name]);
}

/** The reverse of `listOf`; undefined unless the list is one of valid thresholds. */
export function thresholdsOf(list: unknown): Thresholds | undefined {
  if (!Array.isArray(list) || list.length !== names.length) return undefined;
  const isFine = names.every((name, index) => isWithin(name, list[index]));
  return isFine
    ? (Object.fromEntries(names.map((name, index) => [name, list[index]])) as unknown as Thresholds)
    : undefined;
}

/**
 * Completes thresholds with the usual ones.
 * @param what names the thresholds in errors
 * @throws ValueError for an unknown name or a value out of its range
 */
export function completed(some: unknown, what: string): Thresholds {
  if (typeof some !== 'object' || some === null)
    throw invalid(`${what} must be sizes such as { smallBytes: 512 }, got ${quote(some)}`);
  const given = Object.entries(some).filter(([, value]) => value !== undefined);
  for (const [name, value] of given) {
    if (!Object.hasOwn(limits, name)) throw invalid(`${what} has no size ${quote(name)}; it has ${names.join(', ')}`);
    const [least, most] = limits[name as keyof Thresholds];
    if (!isWithin(name as keyof Thresholds, value))
      throw invalid(`${what}: ${name} must be a whole number from ${least} to ${most}, got ${quote(value)}`);
  }
  return { ...usualThresholds, ...Object.fromEntries(given) };
}

/**
 * Reads the value of `COLL_THRESHOLDS`: `default`, or sizes such as `smallBytes=512,streamedBytes=4194304`.
 * @throws ValueError for anything else
 */
export function parseThresholds(text: string): Thresholds {
  if (text === 'default') return usualThresholds;
  const entries = text.split(',').map((entry) => {
    const [, name, digits] = /^(\w+)=(\d{1,13})$/.exec(entry) ?? [];
    if (name === undefined)
      throw invalid(
        `COLL_THRESHOLDS must be default, or sizes such as smallBytes=512,streamedBytes=4194304, got ${quote(text)}`,
      );
    return [name, Number(digits)];
  });
  return completed(Object.fromEntries(entries), 'COLL_THRESHOLDS');
}

function isWithin(name: keyof Thresholds, value: unknown): boolean {
  const [least, most] = limits[name];
  return Number.isInteger(value) && Number(value) >= least && Number(value) <= most;
}

function invalid(message: string): ValueError {
  return new ValueError('ERR_COLL_VALUE', message);
}
