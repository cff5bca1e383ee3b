import path from 'node:path';
import ts from 'typescript';
import { root } from './user-project.ts';

const strictest: ts.CompilerOptions = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noEmit: true,
  skipLibCheck: false,
  // Checking TypeScript's own declarations takes two seconds of CPU time per program.
  skipDefaultLibCheck: true,
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  typeRoots: [path.join(root, 'node_modules/@types')],
};

/** The errors of TypeScript for a file of a user, including errors in our declarations. */
export function diagnose(file: string, options: ts.CompilerOptions): string[] {
  const program = ts.createProgram([file], { ...strictest, ...options });
  return ts.getPreEmitDiagnostics(program).map(({ file: where, messageText }) => {
    const text = ts.flattenDiagnosticMessageText(messageText, '\n');
    return where ? `${path.basename(where.fileName)}: ${text}` : text;
  });
}

export function toJavaScript(source: string): string {
  const compilerOptions = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext };
  return ts.transpileModule(source, { compilerOptions }).outputText;
}
