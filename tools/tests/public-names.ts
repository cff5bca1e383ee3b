import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';

const root = path.resolve(import.meta.dirname, '../..');

/** The entry modules for users and for authors of plug-ins. */
export const faces: readonly string[] = ['packages', 'native']
  .flatMap((folder) =>
    readdirSync(path.join(root, folder)).map((name) => path.join(root, folder, name, 'src/index.ts')),
  )
  .concat(
    ['packages/core/src/plugin.ts', 'packages/tfjs/src/node/index.ts', 'packages/jax-js/src/node/index.ts'].map(
      (file) => path.join(root, file),
    ),
  )
  .filter((file) => existsSync(file));

/** The functions, classes and constants of an entry whose doc comment has no program as `@example`. */
export function namesWithoutExample(program: ts.Program, face: string): readonly string[] {
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(face);
  const module = source && checker.getSymbolAtLocation(source);
  if (!module) throw new Error(`${face} exports nothing`);
  const values = checker.getExportsOfModule(module).flatMap((exported) => {
    const isAlias = (exported.flags & ts.SymbolFlags.Alias) !== 0;
    const symbol = isAlias ? checker.getAliasedSymbol(exported) : exported;
    const isValue = (symbol.flags & ts.SymbolFlags.Value) !== 0 && !exported.declarations?.some(isOfType);
    return isValue ? [{ name: exported.name, symbol }] : [];
  });
  const hasProgram = ({ name, text }: ts.JSDocTagInfo) =>
    name === 'example' && /^import /m.test(ts.displayPartsToString(text));
  return values.filter(({ symbol }) => !symbol.getJsDocTags().some(hasProgram)).map(({ name }) => name);
}

/** Whether an export only exports the type of a name. */
function isOfType(node: ts.Declaration): boolean {
  return ts.isExportSpecifier(node) && ts.isTypeOnlyExportDeclaration(node);
}
