import type { Engine } from '@coll/core';
import { native } from '@coll/native';

/** The engines that come with strategies in addition to those of core, without registration. */
export const ourEngines: readonly Engine[] = [native];
