/**
 * Decides which names may be passed to a process as environment variables: whether a name is a valid variable, and
 * whether it would make the loader, the shell, a language runtime or a common tool run or trust something else.
 * Without this check, anyone who may write to a vault could run code wherever it is used. Everything that passes
 * names on uses it: `run`, `export` in every format, templates, the action, the vault endpoint's `format=env` and the
 * dashboard's files. No such list is complete; `run --strict` accepts only declared names.
 */
const variable = /^[A-Za-z_][A-Za-z0-9_]*$/;

export function isVariable(name: string): boolean {
  return variable.test(name);
}

/**
 * Whole families, because every version of a tool can add variables. Letter case is ignored, as npm and curl do; `*`
 * matches anything but white space, which none of these names contains.
 */
const always = familiesOf(
  // The loader, the C library, resolvers, and TLS.
  'LD_* DYLD_* GLIBC_TUNABLES GCONV_PATH NLSPATH LOCPATH MALLOC_* GETCONF_DIR RES_OPTIONS HOSTALIASES LOCALDOMAIN TZDIR',
  'OPENSSL_* SSL_CERT_* SSLKEYLOGFILE *_CA_BUNDLE GNUTLS_* KRB5* *_PROXY DBUS_* XDG_*',
  // Shells, what they start, and terminals.
  'PATH HOME SHELL IFS ENV BASH BASH_* BASHOPTS SHELLOPTS PS0 PS1 PS2 PS3 PS4 PROMPT PROMPT_COMMAND CDPATH ZDOTDIR FPATH INPUTRC',
  'GLOBIGNORE EXECIGNORE TERMINFO* TERMCAP EDITOR VISUAL PAGER BROWSER *_EDITOR *_PAGER MANPAGER LESS LESSOPEN LESSCLOSE LESSEDIT LESSKEY* VIMINIT EXINIT *ASKPASS',
  // By their endings: a command line or arguments for one, whichever program reads it.
  '*_COMMAND *_PASSCOMMAND *_CMD *_CMD_ARGS *_OPTS *_JAVA_OPTIONS *_RSH *_PRELOAD',
  'VIM VIMRUNTIME NVIM_* EMACS* SCREENRC TMUX_TMPDIR FZF_* RIPGREP_CONFIG_PATH BAT_CONFIG_PATH APT_CONFIG GNUPGHOME PASSWORD_STORE_*',
  'COMSPEC PATHEXT PSMODULEPATH SYSTEMROOT WINDIR USERPROFILE APPDATA LOCALAPPDATA',
  // Package managers take any setting from the environment, and settings can name programs. The files that a CI
  // runner's variables name contain commands to it.
  'NPM_CONFIG_* STRONGROOM_* GITHUB_ENV GITHUB_PATH GITHUB_OUTPUT GITHUB_STATE GITHUB_WORKSPACE GITHUB_ACTION* RUNNER_* ACTIONS_*',
  'AWS_CONFIG_FILE AWS_SHARED_CREDENTIALS_FILE AWS_ENDPOINT_URL* DOCKER_HOST DOCKER_CONFIG DOCKER_CONTEXT DOCKER_CERT_PATH DOCKER_TLS*',
  'DOCKER_CLI_* TF_CLI_* TF_PLUGIN_* TF_REATTACH_PROVIDERS TERRAGRUNT_* COMPOSE_FILE CONTAINER_HOST CONTAINERS_* BUILDKIT_HOST',
  'CLOUDSDK_PYTHON* CLOUDSDK_CONFIG AZURE_CONFIG_DIR AZURE_EXTENSION_DIR BOTO_CONFIG ODBCINI ODBCSYSINI ODBCINSTINI LIBMYSQL_PLUGIN* SASL_PATH LDAPCONF LDAPRC',
  'TNS_ADMIN ORACLE_HOME PGSERVICEFILE PGSYSCONFDIR PSQLRC MYSQL_HOME CURL_HOME WGETRC NETRC',
);

/**
 * Languages, build tools and clients. A name that ends like a credential's, such as `NODE_AUTH_TOKEN`, is one and is
 * allowed.
 */
const unlessCredential = familiesOf(
  'NODE_* YARN_* PNPM_* BUN_* DENO_* COREPACK_* ELECTRON_* TS_NODE_*',
  'PYTHON* PIP_* PIPENV_* PYENV_* POETRY_* UV_* CONDA_* VIRTUAL_ENV IPYTHON* JUPYTER_*',
  'RUBY* GEM_* BUNDLE_* IRBRC RBENV_* PERL* PHPRC PHP_* COMPOSER_* LUA_* TCL* R_HOME R_LIBS* R_PROFILE* R_ENVIRON*',
  'JAVA_* _JAVA_OPTIONS JDK_* JRE_HOME JVM_* CLASSPATH MAVEN_* GRADLE_* ANT_* SBT_* CATALINA_* DOTNET_* CORECLR_* COR_* COMPLUS_* NUGET_* MSBUILD*',
  'GOFLAGS GOPATH GOROOT GOPROXY GOENV GOTOOLCHAIN GOBIN GOTOOLDIR GOSUMDB GONOSUMDB GONOPROXY GOINSECURE GOPRIVATE GOMODCACHE GOCACHE* GOAUTH GOVCS CGO_*',
  'CARGO CARGO_* RUSTC RUSTC_* RUST_* RUSTFLAGS RUSTDOC* RUSTUP_* CC CXX CPP LD AR AS CFLAGS CXXFLAGS CPPFLAGS LDFLAGS CPATH *_INCLUDE_PATH LIBRARY_PATH',
  'ERL_* ELIXIR_* MIX_HOME MIX_PATH MIX_ARCHIVES MIX_EXS MIX_DEPS_PATH MIX_BUILD_PATH HEX_HOME HEX_MIRROR JULIA_* GHC* CABAL_* OCAML* OPAM* GUILE_*',
  'SCALA_HOME KOTLIN_HOME GROOVY_* LEIN_* NIX_* AWKPATH AWKLIBPATH TEXMF* TEXINPUTS GS_LIB MAGICK_* PYTEST_* MYPYPATH UWSGI_*',
  'NVM_* FNM_* VOLTA_* ASDF_* MISE_* SDKMAN_* HOMEBREW_* COMPILER_PATH GCC_* CCACHE_* CMAKE_* PKG_CONFIG* MAKE MAKEFLAGS MAKEFILES MFLAGS GNUMAKEFLAGS',
  'TAR_OPTIONS GZIP BZIP BZIP2 XZ_* ZIPOPT UNZIP GREP_OPTIONS RSYNC_* GIT_* HG HG* SVN_* SSH_* SUDO_*',
  'KUBECONFIG KUBE* HELM_* ANSIBLE_* GTK_* QT_* GIO_* GST_* GDK_PIXBUF_* ALSA_* VK_ICD_FILENAMES VK_DRIVER_FILES VK_LAYER_PATH FONTCONFIG_* P11_KIT_*',
);

const credential = /_(?:TOKEN|PASSWORD|PASSPHRASE|SECRET|KEY|USER|USERNAME|EMAIL)$/;

/** These change what a program does, but run nothing. */
const harmless = new Set([
  'NODE_ENV',
  'PYTHONUNBUFFERED',
  'PYTHONDONTWRITEBYTECODE',
  'RUST_LOG',
  'RUST_BACKTRACE',
  'DOTNET_ENVIRONMENT',
  'SSH_HOST',
  'SSH_PORT',
]);

export function changesWhatRuns(name: string): boolean {
  const upper = name.toUpperCase();
  if (always.test(upper)) return true;
  return unlessCredential.test(upper) && !credential.test(upper) && !harmless.has(upper);
}

function familiesOf(...lines: readonly string[]): RegExp {
  const patterns = lines.flatMap(line => line.split(' ')).map(name => name.replaceAll('*', '\\S*'));
  return new RegExp(`^(?:${patterns.join('|')})$`);
}
