import { describe, expect, it } from 'vitest';
import { rowKinds } from './run-recorder.js';
import { RunRecords } from './run-records.js';

type Kind = keyof typeof rowKinds;
type Row = readonly [kind: Kind, time: number, milliseconds?: number, samples?: number];

const unknown = Number.NaN;

function recordsOf(ofReplicas: readonly (readonly Row[])[]): RunRecords {
  const records = new RunRecords(ofReplicas.length);
  for (const [replica, rows] of ofReplicas.entries()) {
    // In two messages.
    const half = Math.floor(rows.length / 2);
    for (const part of [rows.slice(0, half), rows.slice(half)])
      records.add(
        replica,
        Float64Array.from(
          part.flatMap(([kind, time, milliseconds = 0, samples = unknown]) => [
            rowKinds[kind],
            time,
            milliseconds,
            samples,
          ]),
        ),
      );
  }
  return records;
}

/** Rows of a kind, one every `every` milliseconds. */
function regular(kind: Kind, count: number, every: number, milliseconds = 0, samples = unknown): Row[] {
  return Array.from({ length: count }, (_, at): Row => [kind, 1e12 + every * (at + 1), milliseconds, samples]);
}

const byTime = (rows: readonly Row[]) => [...rows].sort(([, one], [, other]) => one - other);

describe('records of a run', () => {
  it('have no figures without steps, and after too few', () => {
    const nothing = recordsOf([regular('collective', 50, 10), []]);
    expect(nothing.hasSteps).toBe(false);
    expect(nothing.figures()).toBeUndefined();
    const few = recordsOf([regular('step', 50, 10), regular('step', 3, 10)]);
    expect(few.hasSteps).toBe(true);
    expect(few.figures()).toBeUndefined();
    expect(recordsOf([regular('step', 50, 10), []]).figures()).toBeUndefined();
  });

  it('tell the steps of an optimizer, its samples, and its shares of the time', () => {
    // Replica 1 computes for 6 of 10 ms, and the exchange takes 4 ms; replica 0 computes for 4 ms.
    const figures = recordsOf([regular('step', 101, 10, 6, 8), regular('step', 101, 10, 4, 8)]).figures();
    expect(figures?.steps).toBe(80);
    expect(figures?.stepsPerSecond).toBeCloseTo(100);
    expect(figures?.samplesPerSecond).toBeCloseTo(1600);
    expect(figures?.shares?.exchange).toBeCloseTo(0.4);
    expect(figures?.shares?.waiting).toBeCloseTo(0.1);
    expect(figures?.shares).toMatchObject({ slowest: 1 });
    expect(figures?.shares?.slowestBy).toBeCloseTo(0.2);
  });

  it('leave out the first fifth of the time', () => {
    const slow = regular('step', 5, 40, 0, 1);
    const fast = regular('step', 800, 1, 0, 1).map(([kind, time, ...rest]): Row => [kind, time + 200, ...rest]);
    expect(recordsOf([[...slow, ...fast]]).figures()?.samplesPerSecond).toBeCloseTo(1000);
  });

  it('take the samples of reports if steps have none', () => {
    const rows = byTime([...regular('step', 100, 10), ...regular('report', 50, 20, 0, 64)]);
    const figures = recordsOf([rows]).figures();
    expect(figures?.stepsPerSecond).toBeCloseTo(100);
    expect(figures?.samplesPerSecond).toBeCloseTo(3200);
    expect(recordsOf([regular('step', 100, 10)]).figures()?.samplesPerSecond).toBeUndefined();
  });

  it('add up the samples of reports, whose replicas may make unequal numbers of them', () => {
    const figures = recordsOf([regular('report', 100, 10, 0, 2), regular('report', 20, 50, 0, 1), []]).figures();
    expect(figures).toMatchObject({ steps: 79, shares: { exchange: 0, waiting: 0 } });
    expect(figures?.stepsPerSecond).toBeCloseTo(100);
    expect(figures?.samplesPerSecond).toBeCloseTo(220);
  });

  it('take the shares of programs that report from their collectives', () => {
    const rows = (milliseconds: number) =>
      byTime([...regular('report', 100, 10, 0, 1), ...regular('collective', 50, 20, milliseconds)]);
    const { exchange, waiting } = recordsOf([rows(5), rows(15)]).figures()?.shares ?? {};
    expect(exchange).toBeCloseTo(0.25);
    expect(waiting).toBeCloseTo(0.25);
  });

  it('have no shares if a collective overlaps with computations', () => {
    const rows = byTime([...regular('report', 100, 10, 0, 1), ...regular('collective', 50, 20, unknown)]);
    const figures = recordsOf([rows, rows]).figures();
    expect(figures?.samplesPerSecond).toBeCloseTo(200);
    expect(figures?.shares).toBeUndefined();
  });
});
