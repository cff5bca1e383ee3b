import { CommunicationOptions, type CommunicationOptionsInit } from './communication-options.js';
import { ValueError } from './errors.js';
import { quote } from './quote.js';

export interface CallFields extends CommunicationOptionsInit {
  readonly signal?: AbortSignal | undefined;
  /** The options as an object of their own. */
  readonly options?: CommunicationOptions | undefined;
  /** The old name of `options`. */
  readonly experimentalHints?: CommunicationOptions | undefined;
}

/** What the last argument of a collective call may be: options, or their fields with an `AbortSignal` beside them. */
export type CallOptions = CommunicationOptions | CallFields;

export interface ResolvedOptions {
  readonly options: CommunicationOptions;
  readonly signal: AbortSignal | undefined;
}

/** Checks the last argument of a call and fills in what it leaves out. @throws ValueError */
export function resolveCallOptions(call: CallOptions | null | undefined): ResolvedOptions {
  if (call instanceof CommunicationOptions) return { options: new CommunicationOptions(call), signal: undefined };
  if (call === undefined || call === null) return { options: new CommunicationOptions(), signal: undefined };
  requireFields(call);
  const { signal, options, experimentalHints, ...fields } = call;
  if (options !== undefined && experimentalHints !== undefined) {
    throw new ValueError(
      'ERR_COLL_VALUE',
      'options and experimentalHints were both given; experimentalHints is the old name of options',
    );
  }
  const given = options ?? experimentalHints;
  if (given) requireFields(given);
  return { options: new CommunicationOptions(fields).merge(given && new CommunicationOptions(given)), signal };
}

function requireFields(call: unknown): void {
  if (typeof call === 'object') return;
  throw new ValueError('ERR_COLL_VALUE', `options must be CommunicationOptions or its fields, not ${quote(call)}`);
}
