import { registerEngine } from '@coll/core/plugin';
import { native } from './engine.js';

registerEngine(native);
