import { ValueError } from '@coll/core';
import { quote } from '@coll/core/internal';

// More hosts than any cluster has. Without a limit, a short list could expand until memory is
// exhausted.
const mostHosts = 100_000;

/**
 * Expands a list of hosts in Slurm's notation: `gpu[001-003,7],login,x[1-2]y[3-4]`. Keeps leading
 * zeros and the order.
 * @throws ValueError for an invalid list
 */
export function expandHostList(list: string): string[] {
  const hosts = splitOutside(list).flatMap((part) => {
    if (part === '') throw badList(list, 'a host has no name');
    return expand(part, list);
  });
  if (hosts.length > mostHosts) throw badList(list, `it has more than ${mostHosts} hosts`);
  return hosts;
}

/**
 * Expands counts per host in Slurm's notation: `2(x3),1` is 2, 2, 2 and 1.
 * @throws ValueError for an invalid list
 */
export function expandTaskCounts(list: string): number[] {
  return list.split(',').flatMap((part) => {
    const { count, times = '1' } = /^(?<count>\d+)(?:\(x(?<times>\d+)\))?$/.exec(part.trim())?.groups ?? {};
    if (count === undefined || Number(times) > mostHosts) {
      const message = `the tasks per node must be counts such as 2(x3),1, got ${quote(list)}`;
      throw new ValueError('ERR_COLL_CLUSTER', message);
    }
    return Array.from({ length: Number(times) }, () => Number(count));
  });
}

/** Splits a list at the commas that are outside of brackets. */
function splitOutside(list: string): string[] {
  const parts = [''];
  let depth = 0;
  for (const character of list) {
    if (character === '[') depth++;
    if (character === ']') depth--;
    if (depth < 0 || depth > 1) throw badList(list, 'its brackets do not match');
    if (character === ',' && depth === 0) parts.push('');
    else parts[parts.length - 1] += character;
  }
  if (depth !== 0) throw badList(list, 'its brackets do not match');
  return parts.map((part) => part.trim());
}

/**
 * Expands `x[1-2]y[3-4]`: combines every number in the first brackets with every expansion of the
 * rest.
 */
function expand(part: string, list: string): string[] {
  const open = part.indexOf('[');
  if (open < 0) return [part];
  const close = part.indexOf(']', open);
  const numbers = part
    .slice(open + 1, close)
    .split(',')
    .flatMap((range) => numbersOf(range.trim(), list));
  const rests = expand(part.slice(close + 1), list);
  if (numbers.length * rests.length > mostHosts) throw badList(list, `it has more than ${mostHosts} hosts`);
  return numbers.flatMap((number) => rests.map((rest) => `${part.slice(0, open)}${number}${rest}`));
}

function numbersOf(range: string, list: string): string[] {
  // JavaScript does not represent longer numbers exactly.
  const { first = '', last = first } = /^(?<first>\d{1,15})(?:-(?<last>\d{1,15}))?$/.exec(range)?.groups ?? {};
  if (first === '') throw badList(list, `${quote(range)} is not a number or a range`);
  const count = Number(last) - Number(first) + 1;
  if (count < 1) throw badList(list, `the range ${range} runs backwards`);
  if (count > mostHosts) throw badList(list, `it has more than ${mostHosts} hosts`);
  return Array.from({ length: count }, (_, index) => String(Number(first) + index).padStart(first.length, '0'));
}

function badList(list: string, why: string): ValueError {
  return new ValueError(
    'ERR_COLL_CLUSTER',
    `a host list must be written like gpu[001-003,7],login; in ${quote(list)} ${why}`,
  );
}
