import { registerEngine } from '@coll/core';
import { native } from './engine.js';

registerEngine(native);
