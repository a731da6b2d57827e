/**
 * Which names can't be given to a process: what is no variable, and what would make the loader, the shell or the language
 * run something else. Whoever may write to a vault would otherwise run code wherever it is used.
 */
const variable = /^[A-Za-z_][A-Za-z0-9_]*$/;

const hijacking = new RegExp(
  `^(?:${[
    'LD_.*|DYLD_.*|GLIBC_TUNABLES|GCONV_PATH|NLSPATH|LOCPATH|MALLOC_.*|GETCONF_DIR|RES_OPTIONS|HOSTALIASES',
    'PATH|HOME|SHELL|IFS|ENV|BASH_ENV|BASH_FUNC_.*|BASHOPTS|SHELLOPTS|PS[0-4]|PROMPT_COMMAND|CDPATH|ZDOTDIR|FPATH',
    'NODE_.*|npm_config_.*|BUN_.*|DENO_.*|PYTHON(?!UNBUFFERED$|DONTWRITEBYTECODE$).*|VIRTUAL_ENV|RUBY(?:OPT|LIB)|GEM_(?:HOME|PATH)|BUNDLE_.*',
    'PERL5?(?:OPT|LIB|DB|5OPT|5LIB|5DB)|PERL5(?:OPT|LIB|DB)|PHPRC|PHP_INI_SCAN_DIR|LUA_(?:PATH|CPATH|INIT).*',
    'JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|JAVA_OPTS|CLASSPATH|MAVEN_OPTS|GRADLE_OPTS|DOTNET_STARTUP_HOOKS|CORECLR_.*|COR_.*',
    'GIT_(?:SSH|SSH_COMMAND|EXEC_PATH|CONFIG.*|ASKPASS|EDITOR|PAGER|PROXY_COMMAND|EXTERNAL_DIFF|DIR|TEMPLATE_DIR)',
    'SSH_ASKPASS|SUDO_ASKPASS|EDITOR|VISUAL|PAGER|MANPAGER|LESSOPEN|LESSCLOSE|BROWSER|TERMINFO.*|TERMCAP',
    'OPENSSL_(?:CONF|MODULES|ENGINES)|SSL_CERT_(?:FILE|DIR)|CURL_HOME|GOFLAGS|RUSTC_WRAPPER|STRONGROOM_.*',
  ].join('|')})$`,
);

/** NODE_ENV decides much, but runs nothing. */
const harmless = new Set(['NODE_ENV']);

export function isVariable(name: string): boolean {
  return variable.test(name);
}

export function hijacks(name: string): boolean {
  return hijacking.test(name) && !harmless.has(name);
}
