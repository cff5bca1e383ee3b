import { mkdirSync, writeFileSync } from 'node:fs';
import { madeFiles, urlOf } from './pages.ts';

mkdirSync(urlOf('docs/figures/schedules/'), { recursive: true });
for (const [file, text] of madeFiles()) writeFileSync(urlOf(file), text);
