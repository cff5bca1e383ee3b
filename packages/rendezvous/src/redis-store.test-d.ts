import type { Redis } from 'ioredis';
import { expectTypeOf } from 'vitest';
import type { RedisClient } from './index.js';

expectTypeOf<Redis>().toExtend<RedisClient>();
