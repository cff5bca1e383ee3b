import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import {
  Application,
  Comment,
  type DeclarationReflection,
  type ProjectReflection,
  ReflectionKind,
  TSConfigReader,
} from 'typedoc';
import { optionsPage } from './options-page.ts';

const repository = path.resolve(import.meta.dirname, '../../../..');

interface Manifest {
  readonly name: string;
  readonly description?: string;
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
}

/** A name that programs can import: a package, or a subpath of a package. */
export interface EntryPoint {
  readonly name: string;
  readonly source: string;
  /** One line for the index. Default: the docstring of the module. */
  readonly description?: string | undefined;
}

/** The API reference of all packages, and its faults. */
export interface Reference {
  /** Exports without a docstring, and links that lead nowhere. */
  readonly faults: string[];
  /** The page of all options. */
  readonly options: string;
  /** Writes one Markdown page per import path, for the site. */
  write(folder: string): Promise<void>;
}

const ourProject = path.join(import.meta.dirname, 'tsconfig.sources.json');

/** Reads the docstrings of all exports. Default: of all packages. */
export async function readReference(
  entryPoints: readonly EntryPoint[] = ourEntryPoints(),
  tsconfig = ourProject,
): Promise<Reference> {
  const app = await Application.bootstrapWithPlugins(
    {
      name: 'coll',
      entryPoints: entryPoints.map(({ source }) => source),
      tsconfig,
      // Types are checked by `npm run types`.
      skipErrorChecking: true,
      excludePrivate: true,
      excludeInternal: true,
      // Sources have no address on the web yet.
      disableSources: true,
      readme: 'none',
      plugin: ['typedoc-plugin-markdown', 'typedoc-vitepress-theme'],
      logLevel: 'Warn',
      validation: { notExported: true, invalidLink: true, notDocumented: false },
    },
    [new TSConfigReader()],
  );
  const project = await app.convert();
  if (!project) throw new Error('TypeDoc could not read the sources');
  nameModules(project, entryPoints);
  app.validate(project);
  const complaints = app.logger.hasWarnings() || app.logger.hasErrors() ? ['TypeDoc complains, see above'] : [];
  return {
    faults: [...undocumented(project), ...undescribed(project), ...complaints],
    options: optionsPage(project),
    write: (folder) => writeMarkdown(app, project, folder),
  };
}

async function writeMarkdown(app: Application, project: ProjectReflection, folder: string): Promise<void> {
  const options = {
    out: folder,
    markdown: folder,
    router: 'module',
    hideBreadcrumbs: true,
    indexFormat: 'table',
    docsRoot: path.resolve(folder, '../..'),
  };
  for (const [name, value] of Object.entries(options)) app.options.setValue(name as never, value as never);
  await app.generateOutputs(project);
}

/** All names that programs can import from our packages. */
export function ourEntryPoints(): EntryPoint[] {
  const parents = ['packages', 'native'].map((name) => path.join(repository, name));
  const folders = parents.flatMap((parent) => readdirSync(parent).map((name) => path.join(parent, name)));
  return folders.filter((folder) => existsSync(path.join(folder, 'package.json'))).flatMap(entryPointsOf);
}

function entryPointsOf(folder: string): EntryPoint[] {
  const manifest: Manifest = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
  return Object.entries(manifest.exports).flatMap(([subpath, target]) => {
    const source = typeof target === 'string' ? undefined : target['@coll/source'];
    // These modules have no exports for users: they register a plug-in, run in a thread, or serve our own packages.
    if (
      source === undefined ||
      ['./addon', './internal', './internal-node', './machine', './record', './register', './replica-thread'].includes(
        subpath,
      )
    )
      return [];
    const description = subpath === '.' ? manifest.description : undefined;
    return [{ name: path.posix.join(manifest.name, subpath), source: path.join(folder, source), description }];
  });
}

/** Names modules by the paths that programs import, and describes them. */
function nameModules(project: ProjectReflection, entryPoints: readonly EntryPoint[]): void {
  for (const module of project.children ?? []) {
    const file = project.files.getReflectionPath(module);
    const entry = entryPoints.find(({ source }) => source === file);
    module.name = entry?.name ?? module.name;
    if (entry?.description !== undefined)
      module.comment = new Comment([{ kind: 'text', text: `${entry.description}.` }]);
  }
}

const exported =
  ReflectionKind.Class |
  ReflectionKind.Interface |
  ReflectionKind.TypeAlias |
  ReflectionKind.Function |
  ReflectionKind.Variable;
const members = ReflectionKind.Method | ReflectionKind.Accessor;

/**
 * The exports, methods and fields of options without a docstring. An inherited member has the docstring of
 * its parent.
 */
function undocumented(project: ProjectReflection): string[] {
  const all = project.getReflectionsByKind(exported | members | ReflectionKind.Property) as DeclarationReflection[];
  const silent = all.filter((one) => !one.inheritedFrom && isForUsers(one) && !hasComment(one));
  return [...new Set(silent.map((one) => `${one.getFriendlyFullName()} has no docstring`))];
}

/** The modules without a line for the index. */
function undescribed({ children = [] }: ProjectReflection): string[] {
  return children.filter((module) => !module.hasComment()).map(({ name }) => `${name} has no description`);
}

function isForUsers(one: DeclarationReflection): boolean {
  if (one.kindOf(exported)) return one.parent?.kindOf(ReflectionKind.Module) ?? false;
  // A member named by a symbol, such as Symbol.dispose, needs no docstring of its own.
  const isMember = (one.parent?.kindOf(ReflectionKind.ClassOrInterface) ?? false) && !one.name.startsWith('[');
  return isMember && (one.kindOf(members) || /(Options|Init|Fields)$/.test(one.parent?.name ?? ''));
}

function hasComment(one: DeclarationReflection): boolean {
  const signatures = [...(one.signatures ?? []), one.getSignature, one.setSignature];
  return one.hasComment() || signatures.some((signature) => signature?.hasComment());
}
