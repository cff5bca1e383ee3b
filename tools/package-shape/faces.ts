import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { root } from './user-project.ts';

/** The exports of one entry of a package. */
export interface Face {
  /** Classes, functions and constants. */
  readonly values: readonly string[];
  /** Types, and classes that are exported only as types. */
  readonly types: readonly string[];
  /** A program with a declaration that needs every type in the signatures of the values. */
  readonly consumer: string;
}

/** Reads a declaration file. @param entry the name by which programs import it */
export function readFace(declarations: string, entry: string): Face {
  const program = ts.createProgram([declarations], { types: [], skipLibCheck: true, target: ts.ScriptTarget.ES2022 });
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(declarations);
  const module = source && checker.getSymbolAtLocation(source);
  if (!module) throw new Error(`${declarations} exports nothing`);
  const exported = checker.getExportsOfModule(module);
  const isValue = (symbol: ts.Symbol) =>
    (targetOf(symbol, checker).flags & ts.SymbolFlags.Value) !== 0 &&
    !symbol.declarations?.some((each) => ts.isExportSpecifier(each) && ts.isTypeOnlyImportOrExportDeclaration(each));
  const values = exported.filter(isValue);
  const lines = values.flatMap((symbol) => usesOf(symbol.name, targetOf(symbol, checker), checker));
  const head = `import * as entry from '${entry}';\n${signature}`;
  return {
    values: values.map(({ name }) => name),
    types: exported.filter((symbol) => !isValue(symbol)).map(({ name }) => name),
    consumer: `${head}\n${lines.join('\n')}\n`,
  };
}

const signature =
  'declare function signature<Args extends readonly unknown[], Result>(call: (...args: Args) => Result): (...args: Args) => Result;';

const targetOf = (symbol: ts.Symbol, checker: ts.TypeChecker): ts.Symbol =>
  symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;

/** Exports of a program whose inferred types contain the signatures of a value. */
function usesOf(name: string, symbol: ts.Symbol, checker: ts.TypeChecker): string[] {
  const type = checker.getTypeOfSymbol(symbol);
  if (symbol.flags & ts.SymbolFlags.Class) return usesOfClass(name, symbol, checker);
  if (type.getCallSignatures().length > 0) return [`export const of_${name} = signature(entry.${name});`];
  return [`export const of_${name} = entry.${name};`];
}

function usesOfClass(name: string, symbol: ts.Symbol, checker: ts.TypeChecker): string[] {
  const instance = checker.getDeclaredTypeOfSymbol(symbol);
  const parameters = (instance as ts.InterfaceType).typeParameters ?? [];
  const spelled = `entry.${name}${parameters.length > 0 ? `<${parameters.map(() => 'unknown').join(', ')}>` : ''}`;
  const isAbstract = symbol.declarations?.some((each) => hasModifier(each, ts.ModifierFlags.Abstract)) ?? false;
  const hidden = isAbstract ? ts.ModifierFlags.Private : ts.ModifierFlags.Private | ts.ModifierFlags.Protected;
  const members = checker.getPropertiesOfType(instance).filter(({ declarations, name: member }) => {
    return /^\w+$/.test(member) && !declarations?.some((each) => hasModifier(each, hidden));
  });
  if (!isAbstract)
    return members.map((it) => `export const of_${name}_${it.name} = (it: ${spelled}) => it.${it.name};`);
  // Subclasses use protected members.
  const methods = members.map((it) => `  of_${it.name}() { return this.${it.name}; }`);
  return [`export abstract class Of${name} extends ${spelled} {\n${methods.join('\n')}\n}`];
}

const hasModifier = (declaration: ts.Declaration, flags: ts.ModifierFlags) =>
  (ts.getCombinedModifierFlags(declaration) & flags) !== 0;

/** Names that the table of docs/reference/tensorflow-names.md links to sources of core. */
export function namesOfTable(): string[] {
  const page = readFileSync(path.join(root, 'docs/reference/tensorflow-names.md'), 'utf8');
  return [...page.matchAll(/\[`(\w+)[^`]*`\]\(\.\.\/\.\.\/packages\/core\//g)].map(([, name]) => name as string);
}

/** The texts of all guides, READMEs and examples, except the table of names, by file. */
export function textsForUsers(): ReadonlyMap<string, string> {
  const folders = ['docs', 'examples', ...['packages', 'native'].flatMap((parent) => foldersIn(parent))];
  const files = folders.flatMap((folder) => {
    const isPackage = folder.includes('/');
    const all = readdirSync(path.join(root, folder), { recursive: !isPackage, encoding: 'utf8' });
    const wanted = isPackage ? /^README\.md$/ : /(?<!\.test)\.(md|ts)$/;
    return all.filter((file) => wanted.test(file)).map((file) => `${folder}/${file}`);
  });
  const read = [...files, 'README.md'].filter(
    (file) => !/tensorflow-names|^docs\/(explanation\/decisions|reference\/api)|node_modules/.test(file),
  );
  return new Map(read.map((file) => [file, readFileSync(path.join(root, file), 'utf8')]));
}

const foldersIn = (parent: string): string[] =>
  readdirSync(path.join(root, parent), { withFileTypes: true })
    .filter((each) => each.isDirectory())
    .map(({ name }) => `${parent}/${name}`);
