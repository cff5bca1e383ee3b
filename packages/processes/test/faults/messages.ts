import type { ErrorCode } from '@coll/core';
import type { Resources } from './resources.ts';
import type { Scenario } from './scenario.ts';

// What the program and the processes of its ranks say to each other.

export interface Task {
  readonly type: 'task';
  readonly scenario: Scenario;
  readonly rank: number;
  readonly generation: number;
  readonly store: { readonly address: string; readonly job: string; readonly jobKey: string };
}

/** Where a rank reaches another one, which goes through a double of the network. */
export interface Route {
  readonly type: 'route';
  readonly to: number;
  readonly port: number;
}

export type ToRank = Task | Route;

/** An error, as a rank saw it. */
export interface Seen {
  readonly name: string;
  readonly message: string;
  readonly isOurs: boolean;
  readonly code?: ErrorCode;
  readonly rank?: number;
  readonly operation?: string;
  /** When, by the clock that all processes have in common. */
  readonly atMillis: number;
}

/** What came of a scenario on one rank. */
export interface Report {
  readonly type: 'report';
  /** Calls that ended well. */
  readonly calls: number;
  /** Whether its group was opened. */
  readonly hasOpened: boolean;
  /** The first error. */
  readonly error: Seen | undefined;
  /** That of a call after it. */
  readonly later: Seen | undefined;
  readonly wrongResult: string | undefined;
  /** When this rank did what goes wrong, if it did. */
  readonly faultAtMillis: number | undefined;
  readonly closeMillis: number;
  readonly before: Resources;
  readonly after: Resources;
}

/** A process is about to end. */
export interface Exit {
  readonly type: 'exit';
  readonly atMillis: number;
}

/** `started` comes first. */
export type FromRank = Route | { readonly type: 'started' | 'begun' } | Exit | Report;

/** A clock that all processes of a machine have in common. */
export function nowMillis(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
