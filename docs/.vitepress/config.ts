import { readFileSync } from 'node:fs';
import { type DefaultTheme, defineConfig, type UserConfig } from 'vitepress';
import { linkToRepository } from './repository-links.ts';

const api = JSON.parse(readFileSync(new URL('../reference/api/typedoc-sidebar.json', import.meta.url), 'utf8'));

/** Pages of one folder, as the sidebar shows them. */
const pages = (folder: string, names: Readonly<Record<string, string>>) =>
  Object.entries(names).map(([name, text]) => ({ text, link: `/${folder}/${name}` }));

const site: UserConfig<DefaultTheme.Config> = defineConfig({
  title: 'coll',
  description: 'Collective communication and data-parallel training for TypeScript',
  head: [
    ['link', { rel: 'icon', type: 'image/svg+xml', href: '/favicon.svg' }],
    ['link', { rel: 'stylesheet', href: '/home.css' }],
  ],
  lastUpdated: false,
  markdown: { config: linkToRepository },
  // The playground runs the sources of the packages, which need not be built.
  vite: { resolve: { conditions: ['@coll/source'] } },
  themeConfig: {
    outline: [2, 3],
    search: { provider: 'local' },
    nav: [
      { text: 'Start', link: '/start/tfjs' },
      { text: 'Guides', link: '/guides/several-processes' },
      { text: 'Troubleshooting', link: '/troubleshooting' },
      { text: 'Reference', link: '/reference/api/' },
      { text: 'Explanation', link: '/explanation/how-it-works' },
    ],
    sidebar: [
      {
        text: 'Start',
        items: pages('start', {
          'jax-js': 'A jax-js script',
          tfjs: 'A TensorFlow.js script',
          page: 'A model in a page',
          'tensorflow-user': 'Coming from TensorFlow',
          'typed-arrays': 'Typed arrays',
          'plugin-author': 'Write an algorithm',
        }).concat({ text: 'Playground', link: '/playground' }),
      },
      {
        text: 'Programs',
        items: pages('guides', {
          strategies: 'Strategies and replicas',
          'map-on-all-cores': 'Map on all cores',
          fit: 'Training with fit',
          data: 'Data',
          variables: 'Variables',
          'checkpoints-and-restarts': 'Checkpoints and restarts',
          groups: 'Groups without a strategy',
          pages: 'Train in a page',
          bundlers: 'Bundlers',
        }),
      },
      {
        text: 'Processes and hosts',
        items: pages('guides', {
          'several-processes': 'Several processes',
          'several-hosts': 'Several hosts',
          slurm: 'Slurm',
          'slurm-and-mpirun': 'Slurm and mpirun',
          mpi: 'MPI',
          kubernetes: 'Kubernetes',
          docker: 'Docker',
          security: 'Security',
        }),
      },
      {
        text: 'Speed',
        items: pages('guides', {
          measure: 'Measure',
          observe: 'See what a job does',
          'choose-an-algorithm': 'Choose an algorithm',
          'overlap-and-packing': 'Overlap and packing',
          gpus: 'GPUs',
        }),
      },
      { text: 'Troubleshooting', link: '/troubleshooting' },
      {
        text: 'Reference',
        items: [
          ...pages('reference', {
            cli: 'Command line',
            environment: 'Environment variables',
            options: 'Options',
            launchers: 'Launchers',
            runtimes: 'Runtimes',
            errors: 'Errors',
            'tensorflow-names': 'Names of TensorFlow',
            'pytorch-names': 'Names of PyTorch',
            'jax-names': 'Names of JAX',
          }),
          { text: 'API', link: '/reference/api/', collapsed: true, items: api },
        ],
      },
      {
        text: 'Explanation',
        items: pages('explanation', {
          'how-it-works': 'How it works',
          collectives: 'Collectives and communicators',
          values: 'Values and devices',
          workers: 'Workers',
          'plug-ins': 'Plug-ins',
          algorithms: 'Algorithms',
          numbers: 'Numbers',
          'failure-model': 'Failures',
          'decisions/': 'Decisions',
        }),
      },
      {
        text: 'Internals',
        collapsed: true,
        items: pages('internals', {
          'call-path': 'Code map and call path',
          development: 'Development',
          executors: 'Executors and engines',
          processes: 'Processes',
          records: 'Flight records',
          benchmarks: 'Benchmarks',
          costs: 'Costs and simulation',
          scale: 'Memory, connections and messages',
        }),
      },
    ],
  },
});

export default site;
