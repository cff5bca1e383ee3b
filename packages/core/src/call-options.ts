import { CommunicationOptions, type CommunicationOptionsInit } from './communication-options.js';
import { ValueError } from './errors.js';
import { quote } from './quote.js';

export interface CallFields extends CommunicationOptionsInit {
  readonly signal?: AbortSignal | undefined;
  /** The components of a dense result may all be one memory, written once, that nobody writes to afterwards. Default: each has its own. */
  readonly sharedResult?: boolean | undefined;
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
  readonly sharedResult?: boolean;
}

/** Checks the last argument of a call and fills in what it leaves out. @throws ValueError */
export function resolveCallOptions(call: CallOptions | null | undefined): ResolvedOptions {
  if (call instanceof CommunicationOptions) return { options: new CommunicationOptions(call), signal: undefined };
  if (call === undefined || call === null) return { options: new CommunicationOptions(), signal: undefined };
  requireFields(call);
  const { signal, sharedResult = false, options, experimentalHints } = call;
  if (typeof sharedResult !== 'boolean')
    throw new ValueError('ERR_COLL_VALUE', `sharedResult must be true or false, not ${quote(sharedResult)}`);
  if (options !== undefined && experimentalHints !== undefined) {
    throw new ValueError(
      'ERR_COLL_VALUE',
      'options and experimentalHints were both given; experimentalHints is the old name of options',
    );
  }
  const given = options ?? experimentalHints;
  if (given) requireFields(given);
  const fields = new CommunicationOptions(call);
  const merged = given ? fields.merge(new CommunicationOptions(given)) : fields;
  return sharedResult ? { options: merged, signal, sharedResult } : { options: merged, signal };
}

function requireFields(call: unknown): void {
  if (typeof call === 'object') return;
  throw new ValueError('ERR_COLL_VALUE', `options must be CommunicationOptions or its fields, not ${quote(call)}`);
}
