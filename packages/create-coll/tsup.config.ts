import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { libConfig } from '../../tools/tsup/lib-config.ts';
import { kinds } from './src/kinds.ts';

const examples = path.resolve('../../examples');

/** Copies the examples that are the programs of new projects, where they are not in a folder of examples any more. */
function copyTemplates(): void {
  for (const [kind, { programs }] of Object.entries(kinds))
    for (const [name, example] of Object.entries(programs)) {
      const target = path.resolve('dist/templates', kind, name);
      mkdirSync(path.dirname(target), { recursive: true });
      const text = readFileSync(path.join(examples, example), 'utf8').replaceAll(`examples/${example}`, name);
      const folder = `examples/${path.dirname(example)}/`;
      writeFileSync(target, text.replaceAll(folder, ''));
    }
}

export default libConfig({ entry: ['src/main.ts'], onSuccess: async () => copyTemplates() });
