import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { setLogSink } from '../support/logger.js';
import { leaveRunNote, logRunNotes, type RunNote, runOf, silenceRunNote, takeRunNote } from './run-note.js';

const lines: string[] = [];
beforeEach(() => {
  lines.length = 0;
  setLogSink((level, message) => lines.push(`${level}: ${message}`));
});
afterEach(() => setLogSink());

const about = (what: string): RunNote => ({ about: what, line: `a line about ${what}` });

describe('the note of a run', () => {
  it('is the first that was left, until it is taken', () => {
    const replica = {};
    for (const what of ['this', 'that']) leaveRunNote(replica, () => about(what));
    expect(takeRunNote(replica)).toEqual(about('this'));
    expect(takeRunNote(replica)).toBeUndefined();
    leaveRunNote(replica, () => about('that'));
    expect(takeRunNote(replica)).toEqual(about('that'));
  });

  it('can be silenced for the rest of the run', () => {
    const replica = {};
    leaveRunNote(replica, () => about('this'));
    expect([silenceRunNote(replica), silenceRunNote(replica)]).toEqual([true, false]);
    leaveRunNote(replica, () => about('this'));
    expect(takeRunNote(replica)).toBeUndefined();
    leaveRunNote(replica, () => about('this'));
    expect(takeRunNote(replica)).toEqual(about('this'));
  });
});

it('each run of a replica has an object of its own', () => {
  const replica = {};
  const first = runOf(replica);
  expect(runOf(replica)).toBe(first);
  takeRunNote(replica);
  expect(runOf(replica)).not.toBe(first);
});

describe('the notes of replicas', () => {
  const [one, other] = [about('one'), about('other')];

  it.each<[string, readonly (RunNote | undefined)[], number, number]>([
    ['two replicas want the same', [one, undefined, one], 0, 1],
    ['only one replica has a note', [one, undefined], 0, 0],
    ['replicas have different notes', [one, one, other], 0, 0],
    ['another process has replica 0', [one, one], 2, 0],
    ['the process has only replica 1', [one], 1, 1],
    ['the process has only replica 0', [one], 0, 0],
    ['the process has only another replica', [one], 2, 0],
    ['there are none', [undefined, undefined], 0, 0],
  ])('if %s', (_, notes, firstReplica, times) => {
    logRunNotes(notes, firstReplica);
    expect(lines).toEqual(Array(times).fill('warn: a line about one'));
  });
});
