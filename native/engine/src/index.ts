export { native } from './engine.js';
