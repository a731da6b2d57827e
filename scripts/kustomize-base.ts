/** Writes the kustomize base: the chart, rendered with deploy/kustomize/values.yaml. Run it after a change to the chart. */
import { readFileSync, writeFileSync } from 'node:fs';
import { parse, stringify } from 'yaml';
import { renderChart } from '../test/helm.ts';

const values = parse(readFileSync('deploy/kustomize/values.yaml', 'utf8'));
const { objects } = renderChart('deploy/helm/strongroom', values, 'kustomize');
const kept = objects.filter(({ metadata }) => metadata.annotations?.['helm.sh/hook'] === undefined);
writeFileSync('deploy/kustomize/base/strongroom.yaml', kept.map(object => stringify(object)).join('---\n'));
