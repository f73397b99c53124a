#!/bin/sh
# Install a wheel or an sdist in an empty environment, and do there what a new user does first.
# try.sh PACKAGE ENVIRONMENT CONSTRAINTS
set -eu
package=$(realpath "$1") environment=$(realpath -m "$2") constraints=$(realpath "$3")
rm -rf "$environment"
"${PYTHON:-python3}" -m venv "$environment"
"$environment/bin/pip" install --quiet -c "$constraints" "$package[plot]"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
PATH="$environment/bin:$PATH"
python -c "import sys, transa; assert transa.__file__.startswith(sys.prefix), transa.__file__; print(transa.__version__)"
transa demo
transa train nations --model transe --out run --set epochs=2
transa predict run --head usa --relation treaties
python -c "import transa; print(transa.load_model('run').evaluate())"
