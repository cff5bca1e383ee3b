import type { Engine } from '@coll/core';
import { native } from '@coll/native';

/** Engines that strategies use in addition to those of core, without registration. */
export const ourEngines: readonly Engine[] = [native];
