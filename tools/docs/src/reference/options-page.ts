import { type CommentDisplayPart, type DeclarationReflection, type ProjectReflection, ReflectionKind } from 'typedoc';
import { markdownTable } from '../markdown-table.ts';

const head = `# Options

This page lists every options object, by the import path of its type. \`npm run docs\` generates the page from docstrings. An unknown option throws a \`ValueError\` that names the most similar option. The value \`undefined\` means the
default.
`;

/** The page of all options that users can pass. */
export function optionsPage(project: ProjectReflection): string {
  const sections = (project.children ?? []).flatMap((module) => {
    const types = (module.children ?? []).filter(isOptions).toSorted((a, b) => a.name.localeCompare(b.name));
    if (types.length === 0) return [];
    return [`## ${module.name}\n\n${types.map(sectionOf).join('\n\n')}`];
  });
  return `${head}\n${sections.join('\n\n')}\n`;
}

function isOptions(type: DeclarationReflection): boolean {
  return (
    type.kindOf(ReflectionKind.ClassOrInterface) && /(Options|Hints)$/.test(type.name) && fieldsOf(type).length > 0
  );
}

function fieldsOf(type: DeclarationReflection): DeclarationReflection[] {
  return (type.children ?? []).filter((child) => child.kindOf([ReflectionKind.Property, ReflectionKind.Accessor]));
}

function sectionOf(type: DeclarationReflection): string {
  const rows = fieldsOf(type).map((field) => {
    const value = field.type ?? field.getSignature?.type;
    return [`\`${field.name}\``, `\`${value?.toString() ?? ''}\``, textOf(commentOf(field))].map(inCell);
  });
  return `### ${type.name}\n\n${textOf(commentOf(type))}\n\n${markdownTable(['option', 'type', 'meaning'], rows, 3)}`;
}

function commentOf(one: DeclarationReflection): readonly CommentDisplayPart[] {
  return (one.comment ?? one.getSignature?.comment)?.summary ?? [];
}

function textOf(parts: readonly CommentDisplayPart[]): string {
  const text = parts.map((part) => (part.kind === 'inline-tag' ? `\`${part.text}\`` : part.text)).join('');
  return text.replaceAll(/\s+/g, ' ').trim();
}

function inCell(text: string): string {
  return text.replaceAll('|', '\\|');
}
