import type { EngineName } from '@coll/core';
import type { MeasureRequest } from '../arguments.js';

type Requested =
  | 'isQuick'
  | 'peers'
  | 'algorithms'
  | 'places'
  | 'forms'
  | 'inputs'
  | 'bytes'
  | 'networks'
  | 'transports';

/** Which cases are wanted. Quick runs measure the most telling cases, at fewer sizes. */
export interface Selection extends Pick<MeasureRequest, Requested> {
  /** Engines that this machine supports. */
  readonly engines: readonly EngineName[];
  /** Whether the memory bound can be measured. */
  readonly hasBound: boolean;
}
