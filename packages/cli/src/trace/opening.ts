import { rankList } from '@coll/core/internal';
import { secondsText } from './call-text.js';
import type { SeenRecord } from './group-records.js';
import type { Verdict } from './verdict.js';

/** A rank that waits for the others of its group to open it, too. */
interface Opening {
  readonly rank: number;
  readonly size: number;
  readonly seconds: number;
}

/** A verdict about a group that does not open because ranks are missing; undefined if there is none. */
export function openingVerdict(records: readonly SeenRecord[]): Verdict | undefined {
  const openings = records.flatMap(openingOf);
  const [first] = openings;
  if (!first) return undefined;
  const here = new Set(openings.filter(({ size }) => size === first.size).map(({ rank }) => rank));
  const absent = Array.from({ length: first.size }, (_, rank) => rank).filter((rank) => !here.has(rank));
  if (absent.length === 0) return undefined;
  const seconds = Math.max(...openings.map((opening) => opening.seconds));
  const waiting = [...here].sort((a, b) => a - b);
  const wait = `${rankList(waiting)} ${waiting.length === 1 ? 'has' : 'have'} waited for ${secondsText(seconds)} to open a group of ${first.size} ranks`;
  // A thread that has not begun to open the group has no rank yet.
  const others = records.filter(({ record: { notes, parts } }) => parts.length === 0 && !notes.some(isOpening));
  const isKnown = others.length === absent.length;
  return {
    kind: isKnown ? 'absent' : 'unknown',
    ranks: isKnown ? absent : [],
    sentence: `${rankList(absent)} ${absent.length === 1 ? 'has' : 'have'} not opened the group: ${wait}${isKnown ? '' : '; the records of the others are missing'}`,
    ...{ waiting, seconds: Number(seconds.toFixed(3)), missing: isKnown ? [] : absent },
  };
}

function openingOf({ record, seenUntil, offset }: SeenRecord): readonly Opening[] {
  const note = record.notes.findLast(isOpening);
  if (!note || record.end !== 'open') return [];
  if (record.notes.some(({ kind, time }) => (kind === 'opened' || kind === 'failure') && time >= note.time)) return [];
  const [, rank, size] = /^rank (\d{1,5}) of (\d{1,5})\b/.exec(note.text) ?? [];
  if (rank === undefined) return [];
  return [{ rank: Number(rank), size: Number(size), seconds: Math.max(0, seenUntil - note.time - offset) / 1e6 }];
}

function isOpening({ kind }: { readonly kind: string }): boolean {
  return kind === 'opening';
}
