import { CollError } from '@coll/core';
import { quote } from '@coll/core/internal';

/** Settings that must be equal on all members, by name. */
export type Settings = Readonly<Record<string, string | number>>;

/**
 * Describes the newest group in a store that several groups use one after the other. The first
 * member of that group writes the record.
 */
export interface GenerationRecord {
  readonly generation: number;
  /** Rank of the member that wrote the record. */
  readonly rank: number;
  readonly settings: Settings;
}

/**
 * Encodes a record. Settings are stored under the name `terms`, which members of all releases can
 * read, so that a member of another release can report that the versions differ.
 */
export function encodeGenerationRecord({ generation, rank, settings }: GenerationRecord): Uint8Array {
  return Buffer.from(JSON.stringify({ generation, rank, terms: settings }));
}

/** Decodes a record. @throws CollError (ERR_COLL_STORE) unless a member wrote it */
export function decodeGenerationRecord(bytes: Uint8Array, operation: string): GenerationRecord {
  const newest = parse(bytes);
  if (newest) return newest;
  const told = "the store contains data of another program under the key for the group's generation";
  throw new CollError('ERR_COLL_STORE', `${told}: use a store, or a key prefix, that no other program uses`, {
    operation,
  });
}

/** Describes the settings that differ between two members; undefined if all are equal. */
export function differenceOf(own: GenerationRecord, other: GenerationRecord): string | undefined {
  const names = [...new Set([...Object.keys(own.settings), ...Object.keys(other.settings)])];
  const odd = names.filter((name) => own.settings[name] !== other.settings[name]);
  if (odd.length === 0) return undefined;
  const said = ({ rank, settings }: GenerationRecord) =>
    `rank ${rank} has ${odd.map((name) => `${name} ${quote(settings[name])}`).join(', ')}`;
  return `${said(other)}, but ${said(own)}`;
}

function parse(bytes: Uint8Array): GenerationRecord | undefined {
  try {
    const { generation, rank, terms: settings } = JSON.parse(Buffer.from(bytes).toString('utf8'));
    return isCount(generation) && isCount(rank) && areSettings(settings) ? { generation, rank, settings } : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a value is a whole number ≥ 0. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Whether a value is a table of strings and finite numbers. */
export function areSettings(value: unknown): value is Settings {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.values(value).every((each) => typeof each === 'string' || Number.isFinite(each));
}
