import type { TestProject } from 'vitest/node';
import { buildFirst } from './build-first.ts';

/** The tests of this project use what `npm run build` makes. */
export const setup = (project: TestProject): void => buildFirst(project, 'npm', ['run', '--silent', 'build']);
