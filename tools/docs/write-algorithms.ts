import { writeFileSync } from 'node:fs';
import { algorithmsPage } from './algorithm-tables.ts';

writeFileSync(new URL('../../docs/algorithms.md', import.meta.url), algorithmsPage());
