import type { Engine } from '@coll/core';
import { native } from '@coll/native';

/** The engines that come with strategies, beside those of core: nobody has to register them. */
export const ourEngines: readonly Engine[] = [native];
