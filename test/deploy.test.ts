/** The files under deploy/: that they agree with the program, with each other, and with what the docs promise of them. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Ajv } from 'ajv';
import { parse, parseAllDocuments } from 'yaml';
import packageJson from '../package.json' with { type: 'json' };
import lock from '../package-lock.json' with { type: 'json' };
import { serveOptions } from '../src/service/settings/command-options.ts';
import { environmentTwin } from '../src/service/settings/options.ts';
import { merged, renderChart } from './helm.ts';
import { checkout, missingSources, readDockerfile, stepsOf, textOf } from './image.ts';

const chart = join(checkout, 'deploy/helm/strongroom');
const textIn = (path: string) => readFileSync(join(checkout, path), 'utf8');
const needed = { publicUrl: 'https://vault.example.com', tls: { secretName: 'tls' } };
const withDatabase = { ...needed, replicas: 3, database: { secretName: 'database' } };
// biome-ignore lint/suspicious/noExplicitAny: objects of every kind
type Any = any;

describe('what is named under deploy/', () => {
  const files = globSync('deploy/**/*.{yml,yaml,tpl,service,conf,cfg,js}', { cwd: checkout });
  const all = [...files, 'deploy/proxies/Caddyfile', 'deploy/docker/Dockerfile'];

  it('are settings and flags that the service has', () => {
    const twins = new Set(Object.keys(serveOptions).map(environmentTwin));
    for (const file of all) {
      const text = textIn(file);
      for (const [name] of text.matchAll(/STRONGROOM_[A-Z_]+/g))
        assert.ok(twins.has(name), `${file}: ${name}`);
      for (const [line] of text.matchAll(/strongroom serve .*/g))
        for (const [, flag] of line.matchAll(/ --([a-z-]+)/g))
          assert.ok(flag! in serveOptions, `${file}: ${flag}`);
    }
  });

  it('is this version of the program', () => {
    const about = parse(textIn('deploy/helm/strongroom/Chart.yaml'));
    assert.deepEqual([about.version, about.appVersion], [packageJson.version, packageJson.version]);
    for (const file of ['deploy/compose/embedded.yml', 'deploy/compose/postgres.yml'])
      assert.equal(parse(textIn(file)).services.strongroom.image, `strongroom:${packageJson.version}`);
  });
});

describe('the image', () => {
  const stages = readDockerfile();
  const last = stages.at(-1)!;

  it('is built on the runtime of the lock file, and from files that are sent to the builder', () => {
    const { version } = lock.packages['node_modules/node'];
    for (const { base } of stages) assert.equal(base, `node:${version}-bookworm-slim`);
    const froms = textIn('deploy/docker/Dockerfile').match(/^FROM .*$/gm)!;
    assert.equal(froms.length, 2);
    for (const from of froms)
      assert.match(from, /^FROM \$\{NODE_IMAGE\}(?: AS build)?$/, 'one argument pins both by content');
    assert.deepEqual(missingSources(stages), []);
  });

  it('runs no script of a dependency, and runs nothing in its last stage', () => {
    const installs = stages
      .flatMap(stage => stepsOf(stage, 'RUN'))
      .flatMap(({ text }) => text.match(/npm ci[^&]*/g) ?? []);
    assert.equal(installs.length, 2);
    for (const install of installs) assert.match(install, /--ignore-scripts/);
    assert.deepEqual(stepsOf(last, 'RUN'), []);
  });

  it('starts by the launcher, which keeps arguments from Node', () => {
    assert.equal(textOf(last, 'ENTRYPOINT'), '["/app/bin/strongroom.js"]');
  });

  it('names its user by number, and asks for its health without another program', () => {
    assert.match(textOf(last, 'USER'), /^[1-9]\d+:[1-9]\d+$/);
    assert.match(textOf(last, 'HEALTHCHECK'), /^CMD \["node", "\/app\/healthcheck.js"\]$/);
  });
});

describe('the compose files', () => {
  for (const name of ['embedded', 'postgres']) {
    it(`${name}.yml gives every service a read-only root and no more rights than it needs`, () => {
      const { services, secrets = {} } = parse(textIn(`deploy/compose/${name}.yml`)) as Any;
      for (const service of Object.values<Any>(services)) {
        assert.equal(service.read_only, true);
        assert.deepEqual(service.cap_drop, ['ALL']);
        assert.deepEqual(service.security_opt, ['no-new-privileges:true']);
        for (const secret of service.secrets ?? []) assert.ok(secrets[secret].file, secret);
        for (const port of service.ports ?? []) assert.match(port, /^127\.0\.0\.1:/);
      }
      assert.equal(services.strongroom.user, textOf(readDockerfile().at(-1)!, 'USER'));
      assert.equal(services.strongroom.cap_add, undefined);
    });
  }
});

describe('the chart', () => {
  const podOf = (objects: readonly Any[]) =>
    objects.find(({ kind }) => /^(Deployment|StatefulSet)$/.test(kind)).spec.template as Any;
  const selectorOf = ({ spec = {} }: Any) =>
    spec.selector?.matchLabels ?? spec.podSelector?.matchLabels ?? spec.selector ?? {};
  const kinds = (values: object) =>
    renderChart(chart, values)
      .objects.map(({ kind }) => kind)
      .sort();
  const variants: Record<string, object> = {
    embedded: needed,
    'with a database': withDatabase,
    'behind a proxy': { publicUrl: needed.publicUrl, behindProxy: ['10.0.0.0/8', 'fd00::/8'] },
    everything: {
      ...withDatabase,
      ingress: {
        enabled: true,
        className: 'nginx',
        host: 'vault.example.com',
        tlsSecretName: 'web',
        annotations: { a: 'b' },
      },
      httpRoute: { enabled: true, parentRefs: [{ name: 'gateway' }], hostnames: ['vault.example.com'] },
      tlsRoute: { enabled: true, parentRefs: [{ name: 'gateway' }], hostnames: ['vault.example.com'] },
      metrics: { enabled: true, serviceMonitor: true },
      networkPolicy: { from: [{ podSelector: {} }], metricsFrom: [{ namespaceSelector: {} }] },
      env: [{ name: 'STRONGROOM_LOG_RETENTION_DAYS', value: '30' }],
      newDatabase: true,
      podAnnotations: { a: 'b' },
      nodeSelector: { disk: 'fast' },
      tolerations: [{ key: 'vault', operator: 'Exists' }],
      affinity: { podAntiAffinity: {} },
      topologySpreadConstraints: [{ maxSkew: 1 }],
      imagePullSecrets: [{ name: 'registry' }],
    },
  };

  for (const [name, values] of Object.entries(variants)) {
    it(`${name}: mounts every volume, and no other`, () => {
      const { objects } = renderChart(chart, values);
      const { spec } = podOf(objects);
      const claims = objects.flatMap(({ spec }) => spec?.volumeClaimTemplates ?? []);
      const volumes = [...spec.volumes, ...claims.map(({ metadata }) => metadata)];
      const named = (list: Any[]) => list.map(({ name }) => name).sort();
      assert.deepEqual(named(spec.containers[0].volumeMounts), named(volumes));
    });

    it(`${name}: selects its own pods, and ports that they have`, () => {
      const { objects } = renderChart(chart, values);
      const { metadata, spec } = podOf(objects);
      const ports = spec.containers[0].ports.map(({ name }: Any) => name);
      const labels = objects.flatMap(object => Object.entries(selectorOf(object)));
      assert.ok(labels.length >= 6);
      for (const [label, value] of labels) assert.equal(metadata.labels[label], value);
      const { spec: service } = objects.find(({ kind }) => kind === 'Service');
      for (const { targetPort } of service.ports) assert.ok(ports.includes(targetPort));
    });

    it(`${name}: gives its pods no more than they need`, () => {
      const { objects } = renderChart(chart, values);
      const pods = [
        podOf(objects).spec,
        ...objects.filter(({ kind }) => kind === 'Pod').map(({ spec }) => spec),
      ];
      for (const { securityContext, containers, automountServiceAccountToken } of pods) {
        assert.equal(automountServiceAccountToken, false);
        assert.equal(securityContext.runAsNonRoot, true);
        assert.equal(
          `${securityContext.runAsUser}:${securityContext.runAsGroup}`,
          textOf(readDockerfile().at(-1)!, 'USER'),
        );
        assert.equal(securityContext.seccompProfile.type, 'RuntimeDefault');
        assert.deepEqual(containers[0].securityContext, {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
      }
      assert.ok(!objects.some(({ kind }) => kind === 'Secret'), 'secrets are only named');
    });
  }

  it('has one replica and a volume without a database, and as many as are asked for with one', () => {
    assert.deepEqual(kinds(needed), ['NetworkPolicy', 'Pod', 'Service', 'ServiceAccount', 'StatefulSet']);
    assert.deepEqual(kinds(withDatabase), [
      'Deployment',
      'NetworkPolicy',
      'Pod',
      'PodDisruptionBudget',
      'Service',
      'ServiceAccount',
    ]);
    for (const kind of ['Ingress', 'HTTPRoute', 'TLSRoute', 'ServiceMonitor'])
      assert.ok(kinds(variants.everything!).includes(kind));
  });

  it('mounts the root key as a file of its own, because a link is refused', () => {
    const [container] = podOf(renderChart(chart, needed).objects).spec.containers;
    const mount = container.volumeMounts.find((mount: Any) => mount.name === 'root-key');
    const setting = container.env.find((one: Any) => one.name === 'STRONGROOM_ROOT_KEY_FILE');
    assert.deepEqual([mount.mountPath, mount.subPath], [setting.value, 'root.key']);
  });

  it('asks for its health from inside where only a proxy is spoken to', () => {
    const probeOf = (values: object) =>
      podOf(renderChart(chart, values).objects).spec.containers[0].readinessProbe;
    assert.equal(probeOf(needed).httpGet.scheme, 'HTTPS');
    assert.deepEqual(probeOf(variants['behind a proxy']!).exec.command, [
      'node',
      '/app/healthcheck.js',
      '/readyz',
    ]);
  });

  it('is not rendered without an address, or without anyone who terminates TLS', () => {
    assert.throws(() => renderChart(chart, {}), /publicUrl is required/);
    assert.throws(
      () => renderChart(chart, { publicUrl: needed.publicUrl }),
      /tls.secretName or behindProxy is required/,
    );
  });

  it('says what to do next', () => {
    assert.match(
      renderChart(chart, needed).notes,
      /Keep a copy of the root key \(Secret strongroom-root-key\)/,
    );
    assert.match(
      renderChart(chart, variants.everything!).notes,
      /with 3 replica\(s\)[\s\S]*newDatabase=false/,
    );
  });

  it('has a schema that takes what we render, and refuses what is misspelt or can’t work', () => {
    const check = new Ajv({ strict: true, strictRequired: false, allErrors: true }).compile(
      JSON.parse(textIn('deploy/helm/strongroom/values.schema.json')),
    );
    const defaults = parse(textIn('deploy/helm/strongroom/values.yaml'));
    const takes = (given: object) => check(merged(defaults, given));
    for (const values of [{}, ...Object.values(variants)])
      assert.ok(takes(values), JSON.stringify(check.errors));
    const wrong = [
      { replica: 2 },
      { replicas: 2 },
      { replicas: 0 },
      { publicUrl: 'http://vault.example.com' },
      { behindProxy: ['10.0.0.1'] },
      { image: { pullPolicy: 'Sometimes' } },
      { rootKey: { value: 'never here' } },
      { service: { port: 70_000 } },
    ];
    for (const values of wrong) assert.ok(!takes(values), JSON.stringify(values));
  });

  it('is what the kustomize base contains (npm run kustomize:base)', () => {
    const values = parse(textIn('deploy/kustomize/values.yaml'));
    const rendered = renderChart(chart, values, 'kustomize').objects.filter(({ kind }) => kind !== 'Pod');
    const base = parseAllDocuments(textIn('deploy/kustomize/base/strongroom.yaml')).map(document =>
      document.toJS(),
    );
    assert.deepEqual(base, rendered);
  });
});

describe('the proxies', () => {
  const forwarded: Record<string, RegExp> = {
    'nginx.conf': /proxy_set_header X-Forwarded-For \$remote_addr;/,
    'haproxy.cfg': /set-header X-Forwarded-For %\[src\]/,
    Caddyfile: /reverse_proxy unix\/\//,
  };
  for (const [name, pattern] of Object.entries(forwarded)) {
    it(`${name} replaces what a client says of its address, and speaks to the socket of the unit`, () => {
      const text = textIn(`deploy/proxies/${name}`);
      assert.match(text, pattern);
      assert.doesNotMatch(text, /proxy_add_x_forwarded_for|option forwardfor/);
      assert.match(text, /\/run\/strongroom\/strongroom\.sock/);
    });
  }
});

describe('the systemd unit', () => {
  const unit = textIn('deploy/systemd/strongroom.service');

  it('has its root key as an encrypted credential, and nothing to write to but its own folders', () => {
    assert.match(unit, /^LoadCredentialEncrypted=root\.key:/m);
    assert.match(unit, /--root-key-file \$\{CREDENTIALS_DIRECTORY\}\/root\.key/);
    for (const line of [
      'User=strongroom',
      'ProtectSystem=strict',
      'ProtectHome=yes',
      'CapabilityBoundingSet=',
      'NoNewPrivileges=yes',
      'LimitCORE=0',
    ])
      assert.ok(unit.includes(`\n${line}\n`), line);
    assert.doesNotMatch(unit, /^(ReadWritePaths|AmbientCapabilities)=./m);
  });
});
