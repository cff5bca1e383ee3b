import { CollError, ValueError } from '@coll/core';
import { quote } from '@coll/core/internal';

const mostMembers = 4096;

/** Settings that must be equal on all members, by name. */
export type Settings = Readonly<Record<string, string | number>>;

/**
 * Describes the newest group in a store that several groups use one after the other. The first
 * member of that group writes the record.
 */
export interface GenerationRecord {
  /** Number of the run, from 0: the next run begins once a group of this run has ended well. */
  readonly run: number;
  /** Whether the group has ended well, so that the next run may use any generation. */
  readonly hasEnded: boolean;
  readonly generation: number;
  /** Rank of the member that wrote the record. */
  readonly rank: number;
  readonly settings: Settings;
}

/**
 * Encodes a record. Settings are stored under the name `terms`, which members of all releases can
 * read, so that a member of another release can report that the versions differ.
 */
export function encodeGenerationRecord({ settings, ...record }: GenerationRecord): Uint8Array {
  return Buffer.from(JSON.stringify({ ...record, terms: settings }));
}

/** Decodes a record. @throws CollError (ERR_COLL_STORE) unless a member wrote it */
export function decodeGenerationRecord(bytes: Uint8Array, operation: string): GenerationRecord {
  const newest = parse(bytes);
  if (newest) return newest;
  const message = "the store contains data of another program under the key for the group's generation";
  throw new CollError('ERR_COLL_STORE', `${message}: use a store, or a key prefix, that no other program uses`, {
    operation,
  });
}

type Member = Pick<GenerationRecord, 'rank' | 'settings'>;

/** Describes the settings that differ between two members; undefined if all are equal. */
export function differenceOf(own: Member, other: Member): string | undefined {
  const names = [...new Set([...Object.keys(own.settings), ...Object.keys(other.settings)])];
  const odd = names.filter((name) => own.settings[name] !== other.settings[name]);
  if (odd.length === 0) return undefined;
  const said = ({ rank, settings }: Member) =>
    `rank ${rank} has ${odd.map((name) => `${name} ${quote(settings[name])}`).join(', ')}`;
  return `${said(other)}, but ${said(own)}`;
}

/** What to do if the store still has the data of an earlier run, which had this generation. */
export function adviceForNextRun(generation: number): string {
  return `another run needs generation ${generation + 1} or higher on all members (generation or COLL_GENERATION), or a job or store of its own`;
}

function parse(bytes: Uint8Array): GenerationRecord | undefined {
  try {
    const {
      run = 0,
      hasEnded = false,
      generation,
      rank,
      terms: settings,
    } = JSON.parse(Buffer.from(bytes).toString('utf8'));
    const isRecord = isCount(run) && isCount(generation) && isCount(rank) && areSettings(settings);
    return isRecord ? { run, hasEnded: hasEnded === true, generation, rank, settings } : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a value is a whole number ≥ 0. */
function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Whether a value is a table of strings and finite numbers. */
function areSettings(value: unknown): value is Settings {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.values(value).every((each) => typeof each === 'string' || Number.isFinite(each));
}

/** @throws ValueError unless `settings` is an object of strings and numbers */
export function requireSettings(settings: unknown, operation: string): void {
  if (areSettings(settings)) return;
  const message = `settings must be an object of strings and numbers, got ${quote(settings)}`;
  throw new ValueError('ERR_COLL_VALUE', message, { operation });
}

/** @throws ValueError unless the rank is one of a group of this size, which may be at most 4096 */
export function requireMember(generation: number, rank: number, size: number): void {
  if (isCount(generation) && isCount(rank) && isCount(size) && rank < size && size <= mostMembers) return;
  const message = `rank ${quote(rank)} of ${quote(size)}, generation ${quote(generation)}`;
  const rule = `rank must be from 0 to below size, and size at most ${mostMembers}`;
  throw new ValueError('ERR_COLL_VALUE', `${rule}, got ${message}`, { operation: 'join a group' });
}
