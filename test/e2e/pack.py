#!/usr/bin/python3
"""The CMSIS-Pack: pack.py NUCLEON ROOT. 77, "skipped", without the Arm toolchain, QEMU or unzip.

It holds what its description names, and nothing else but headers. The sources that its conditions
give a processor, with its include folders alone, are compiled, linked with a program's C, and have the host's bytes in
QEMU: plain kernels where there is no DSP extension, vectors on a Cortex-M55. NUCLEON_PACK_XSD=FILE names Open-CMSIS-Pack's
PACK.xsd, which xmllint compares the description with.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml
import zipfile

for tool in ('arm-none-eabi-gcc', 'qemu-system-arm', 'cmake'):
    if shutil.which(tool) is None:
        print(f'no {tool}')
        sys.exit(77)

nucleon, root = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()


def check(what, right):
    if not right:
        sys.exit(f'FAIL {what}')


def call(*command):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    check(f'{" ".join(map(str, command))[:200]}: {done.stdout}', done.returncode == 0)
    return done.stdout


def holds(rule, processor):
    """One require or accept."""
    if 'condition' in rule.attrib:
        return selects(conditions[rule.attrib['condition']], processor)
    return all(processor.get(k, v) == v for k, v in rule.attrib.items())


def selects(condition, processor):
    accepted = [holds(r, processor) for r in condition.findall('accept')]
    return all(holds(r, processor) for r in condition.findall('require')) and (not accepted or any(accepted))


def objects(components, processor, flags):
    """What a component's files are compiled to for a processor."""
    includes, sources = [], []
    for component in components:
        check('a component for the processor', selects(conditions[component.attrib['condition']], processor))
        for file in component.find('files'):
            name = file.attrib['name']
            if 'condition' in file.attrib and not selects(conditions[file.attrib['condition']], processor):
                continue
            if file.attrib['category'] == 'include':
                includes.append(f'-I{name}')
            elif file.attrib['category'] == 'source':
                sources.append(name)
    folder = pathlib.Path(processor['name'])
    folder.mkdir()
    made = [folder / (pathlib.PurePath(s).name + '.o') for s in sources]
    check('no two sources have the same name', len(set(made)) == len(made))
    compiler = ['ccache'] if shutil.which('ccache') else []
    commands = ''.join(' '.join([*compiler, 'arm-none-eabi-gcc', *flags, *includes, '-c', s, '-o', str(o)]) + '\n'
                       for s, o in zip(sources, made))
    ran = subprocess.run(['xargs', '-P', '2', '-I', '{}', 'sh', '-c', '{} || exit 255'], input=commands, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    check(f'compiles without a warning: {ran.stdout}', ran.returncode == 0 and ran.stdout == '')
    return includes, made


def run(processor, target, flags, components):
    includes, made = objects(components, processor, flags)
    digits = root / 'examples/digits'
    project = f"{processor['name']}_project"
    call(nucleon, 'compile', digits / 'digits.pt2', '--calibration', digits / 'calibration.npz', '--target', target, '-o',
         'digits.pte', '-q')
    call(nucleon, 'codegen', 'digits.pte', '--project', project, '--input', digits / 'calibration.npz', '-q')
    board = next(pathlib.Path(project, 'port').glob('mps*'))
    call('arm-none-eabi-gcc', *flags, *includes, f'-I{project}', f'-I{project}/program', f'{project}/main.c',
         *(f'{project}/program/{n}.c' for n in ('inference_c', 'digits', 'digits_data')), *pathlib.Path(project, 'port').glob('*.c'),
         *board.glob('*.c'), *made, '-nostartfiles', '-T', next(board.glob('*.ld')), '-Wl,--gc-sections', '-lm', '-o',
         f'{project}/digits.elf')
    check(f'{target}: bytes', 'outputs equal the host' in call('sh', f'{project}/run.sh', f'{project}/digits.elf'))
    print(f"ok   {processor['name']}: {len(made)} sources")
    return [o.name for o in made]


os.chdir(tempfile.mkdtemp())
try:
    call('cmake', '-DOUT=out', '-P', root / 'tools/pack.cmake')
    pack, = pathlib.Path('out').glob('nucleon.nucleon.*.pack')
    with zipfile.ZipFile(pack) as archive:
        archive.extractall('.')
        names = set(archive.namelist())
    description = xml.parse('nucleon.nucleon.pdsc').getroot()
    conditions = {c.attrib['id']: c for c in description.iter('condition')}
    files = [f for f in description.iter('file')]
    named = {f.attrib['name'] for f in files if f.attrib['category'] != 'include'}
    check(f'in the pack: {named - names}', named <= names)
    more = {n for n in names - named if not n.endswith(('.h', '.hpp', '.def', '.inc'))}
    check(f'described: {more}', more == {'LICENSE', 'nucleon.nucleon.pdsc'})
    on_disk = {p.relative_to(root).as_posix() for p in root.glob('src/device/**/*.[cS]')
               if p.parent.name not in ('cmsis', 'wide')}  # with CMSIS-NN's sources; of a host
    missing = on_disk - named
    check(f'sources: {missing}', not missing)
    version = pack.name.removeprefix('nucleon.nucleon.').removesuffix('.pack')
    check('versions', call(nucleon, 'version').split()[1] == version)
    check('of components', {c.attrib['Cversion'] for c in description.iter('component')} == {version})
    check('of the release', description.find('releases/release').attrib['version'] == version)
    if os.environ.get('NUCLEON_PACK_XSD'):
        call('xmllint', '--noout', '--schema', os.environ['NUCLEON_PACK_XSD'], 'nucleon.nucleon.pdsc')
        print('ok   valid')

    common = ['-mthumb', '-mfloat-abi=hard', '-std=c11', '-Os', '-Wall', '-Wextra', '-ffreestanding', '-fno-math-errno',
              '-ffp-contract=off', '-ffunction-sections', '-fdata-sections']
    runtime, simulator = description.iter('component')
    m33 = run({'name': 'plain', 'Dcore': 'Cortex-M33', 'Ddsp': 'NO_DSP', 'Dmve': 'NO_MVE', 'Tcompiler': 'GCC'}, 'imxrt700',
              ['-mcpu=cortex-m33+nodsp', '-mfpu=fpv5-sp-d16', *common], [runtime, simulator])
    m55 = run({'name': 'vectors', 'Dcore': 'Cortex-M55', 'Ddsp': 'DSP', 'Dmve': 'FP_MVE', 'Tcompiler': 'GCC'}, 'cortex-m55',
              ['-mcpu=cortex-m55', *common], [runtime])
    check('what each has', not any('mve_' in n for n in m33) and any('mve_' in n for n in m55) and
          any(n.endswith('.S.o') for n in m55) and not any(n.endswith('.S.o') for n in m33))
    check('other processors', not selects(conditions['Core'], {'Dcore': 'Cortex-M0', 'Tcompiler': 'GCC'}) and
          not selects(conditions['Core'], {'Dcore': 'Cortex-M33', 'Tcompiler': 'IAR'}))
finally:
    shutil.rmtree(os.getcwd())
print('passed')
