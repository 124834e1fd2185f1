#!/bin/sh
# Data as users give them, right and wrong: names of arrays, ranges, images, folders of classes: data.sh NUCLEON ROOT.
# shellcheck source=test/e2e/begin.sh
. "$(dirname "$0")/begin.sh"

# good COMMAND...: exit code 0; what it prints is in out and err.
good() {
    "$nucleon" "$@" >out 2>err || fail "$*: exit code $?: $(head -c 300 err)"
}

# quiet COMMAND...: the same without a note; all images of this test are the one that calibration had.
quiet() {
    good "$@"
    ! grep "^nucleon: note" err | grep -q -v "that calibration had" || fail "$*: $(head -c 300 err)"
}

# bad CODE TEXT COMMAND...: that exit code, and the text in what it says last.
bad() {
    wanted=$1
    text=$2
    shift 2
    "$nucleon" "$@" >out 2>err
    code=$?
    [ $code -eq "$wanted" ] || fail "$*: exit code $code instead of $wanted"
    tail -n 1 err | grep -q -F -e "$text" || fail "$*: no '$text' in: $(head -c 400 err)"
}

# has FILE TEXT
has() {
    grep -q -F -e "$2" "$1" || fail "no '$2' in the last $1: $(head -c 600 "$1")"
}

# npy FILE SHAPE COUNT OCTAL: float32 numbers, all the same, as bytes.
npy() {
    header="{'descr': '<f4', 'fortran_order': False, 'shape': $2, }"
    {
        printf '\223NUMPY\001\000\166\000%-117s\n' "$header"
        i=0
        while [ $i -lt "$3" ]; do
            printf "$4"
            i=$((i + 1))
        done
    } >"$1"
}

one='\000\000\200\077'
two='\000\000\000\100'
many='\000\000\177\103' # 255

# png FILE: a grey image of 8 x 8 pixels from 0 to 252.
png() {
    {
        printf '\211\120\116\107\015\012\032\012\000\000\000\015\111\110\104\122\000\000\000\010\000\000\000\010\010\000'
        printf '\000\000\000\341\144\341\127\000\000\000\123\111\104\101\124\170\234\001\110\000\267\377\000\000\004\010'
        printf '\014\020\024\030\034\000\040\044\050\054\060\064\070\074\000\100\104\110\114\120\124\130\134\000\140\144'
        printf '\150\154\160\164\170\174\000\200\204\210\214\220\224\230\234\000\240\244\250\254\260\264\270\274\000\300'
        printf '\304\310\314\320\324\330\334\000\340\344\350\354\360\364\370\001\356\053\036\206\015\232\105\017\000\000'
        printf '\000\000\111\105\116\104\256\102\140\202'
    } >"$1"
}

# folders ROOT NAME...: an image in each.
folders() {
    parent=$1
    shift
    for name in "$@"; do
        mkdir -p "$parent/$name"
        png "$parent/$name/1.png"
    done
}

# ---- arrays by name: image + mask is not symmetric in the model ----

mkdir by_name by_number foreign both extra single
npy by_name/image.npy '(2, 1, 8)' 16 "$two"
npy by_name/mask.npy '(2, 1, 8)' 16 "$one"
cp by_name/image.npy by_number/in0.npy
cp by_name/mask.npy by_number/in1.npy
cp by_name/image.npy foreign/images.npy
cp by_name/mask.npy foreign/msk.npy
cp by_name/* both/
cp by_name/image.npy both/in0.npy
cp by_name/* extra/
cp by_name/mask.npy extra/other.npy
cp by_name/image.npy single/
good compile "$root/test/e2e/two_inputs.pt2" --calibration by_name -o two.pte --verbose
has out "  data      image -> image [1,8], 2 to 2"
good inspect two.pte
has out "  input 1: mask, 1 to 1 in calibration"
quiet run two.pte --input by_name
has err "image -> image [1,8], 2 to 2"
cp out first
quiet run two.pte --input by_number
has err "in1 -> mask [1,8], 1 to 1"
cmp -s first out || fail "numbers and names differ"
# The archive's order says nothing.
mv by_name/image.npy by_name/x && mv by_name/mask.npy by_name/image.npy && mv by_name/x by_name/mask.npy
good run two.pte --input by_name
! cmp -s first out || fail "values under the other names make no difference"
quiet run two.pte --input extra
has err "not used: other"
bad 1 "the inputs are 'image', 'mask', the arrays 'images', 'msk'; name 'images', if it is that, 'image' or in0" \
    run two.pte --input foreign
bad 1 "no array for input 'image'" evaluate two.pte --dataset foreign --reference "$root/test/e2e/two_inputs.pt2"
bad 1 "no array for input 'image'" compile "$root/test/e2e/two_inputs.pt2" --calibration foreign -o x.pte
bad 1 "arrays 'image' and 'in0' are both for input 'image'" run two.pte --input both
bad 1 "no array for input 'mask'" run two.pte --input single
# Without what the program says, numbers are its names, and a reference has others.
good compile "$root/test/e2e/two_inputs.pt2" --calibration extra --no-metadata -o mute.pte
bad 1 "the inputs are 'in0', 'in1'" run mute.pte --input extra
quiet run mute.pte --input by_number
quiet evaluate mute.pte --dataset extra --reference "$root/test/e2e/two_inputs.pt2"
has out "mask -> mask [1,8]"
good inspect mute.pte
! grep -q "named data" out || fail "--no-metadata leaves named data"
good compile "$root/test/e2e/two_inputs.pt2" --calibration extra --reference-compat -o compat.pte
good inspect compat.pte
! grep -q "named data" out || fail "--reference-compat has named data"

# ---- ranges ----

mkdir pixels
npy pixels/anything.npy '(2, 1, 8, 8)' 128 "$many"
model=$digits/digits.pt2
good compile "$model" --calibration "$digits/calibration.npz" -o digits.pte --verbose
has out "  data      input -> x [1,1,8,8], 0 to 1"
quiet evaluate digits.pte --dataset "$digits/test.npz"
bad 1 "has values of 255 to 255, calibration had 0 to 1: divide the array by 255, as for calibration" \
    evaluate digits.pte --dataset pixels
bad 1 "--unlike-calibration takes it as it is" run digits.pte --input pixels
good run digits.pte --input pixels --unlike-calibration
has err "note: pixels: 'anything' for input 'x' has values of 255 to 255"
has err "    calibrated with 0 to 1"

# ---- images ----

mkdir images
png images/1.png
quiet run digits.pte --input images
has err "images -> x [1,1,8,8], 0 to 0.9725"
good compile "$model" --calibration images --mean 0.5 --std 0.25 -o scaled.pte
good inspect scaled.pte
has out "  images: (pixel / 255 - [0.5]) / [0.25], resize auto"
quiet run scaled.pte --input images
has err "images -> x [1,1,8,8], -2 to 1.89"
cp out first
quiet run scaled.pte --input images --mean 0.5
cmp -s first out || fail "a mean as in calibration makes a difference"
bad 2 "--mean 0 is not that of the calibration, 0.5: leave it out" run scaled.pte --input images --mean 0
bad 2 "--mean 127.5 is of pixels of 0 to 255, but they are divided by 255 first: give --mean 0.5" \
    compile "$model" --calibration images --mean 127.5 -o x.pte
good run digits.pte --input images --mean 0.5 --std 0.5
has err "calibration had 0 to 1: leave --mean and --std out"
# Calibrated with arrays of both signs: the images lack their mean.
mkdir signed
npy signed/x.npy '(4, 1, 8, 8)' 128 '\000\000\000\300\000\000\000\100'
good compile "$model" --calibration signed -o signed.pte
good run signed.pte --input images
has err "calibration had -2 to 2: give --mean and --std as for calibration"

# ---- folders of classes ----

names="c0 c1 c2 c3 c4 c5 c6 c7 c8 c9"
numbers="0 1 2 3 4 5 6 7 8 9"
# shellcheck disable=SC2086
{
    folders named $names
    folders ten $numbers
    folders one $numbers 10
    rm -r one/0
}
bad 2 "--classes names 70 classes, but no output" compile "$model" --calibration ten --classes "$(seq -s , 70)" -o x.pte
folders some c3 C7
folders numbered 3_cat 7_dog
folders strange c3 dog
folders two one zero
folders twins 3 03
good compile "$model" --calibration named -o named.pte
good inspect named.pte
has out "10 classes: c0, c1, c2, c3, c4, c5, c6, c7, c8, c9"
for data in named ten; do
    quiet evaluate named.pte --dataset $data
    has out "of 10)"
    has out "9 c9 "
done
# The image is a 4 for this program, whatever else is there.
for data in c4 4 4_cat 04; do
    folders "only_$data" "$data"
    quiet evaluate named.pte --dataset "only_$data"
    has out "program accuracy        100.00 %  (1 of 1)"
done
quiet evaluate named.pte --dataset some
has out "7 c7 "
quiet evaluate digits.pte --dataset numbered
has out "7 7_dog "
bad 1 "folder 'dog' is none of the program's 10 classes" evaluate named.pte --dataset strange
bad 1 "the folders 'one', 'zero' are none of the program's 10 classes" evaluate named.pte --dataset two
bad 1 "has folders of 2 classes, output 'softmax' has 10: name them 0 to 9" evaluate digits.pte --dataset two
bad 1 "folders are numbered from 1 to 10, classes from 0" evaluate digits.pte --dataset one
bad 1 "folders '03' and '3' are both class 3" evaluate digits.pte --dataset twins
good evaluate digits.pte --dataset named
has err "the folders are the classes 0 to 9 in the order of their names: 'c0' to 'c9'"
good compile "$model" --calibration two -o x.pte
has err "no output has a score for each of the 2 classes"
good compile "$model" --calibration two --classes a,b,c,d,e,f,g,h,i,dog -o listed.pte
good evaluate listed.pte --dataset "$digits/test.npz"
has out "9 dog "
echo "$names" | tr ' ' '\n' >names.txt
good compile "$model" --calibration images --classes names.txt -o listed.pte
good inspect listed.pte
has out "10 classes: c0, c1,"
bad 2 "--classes names 2 classes, but no output of" compile "$model" --calibration images --classes a,b -o x.pte
bad 1 "nowhere.txt" compile "$model" --calibration images --classes nowhere.txt -o x.pte

[ $failures -eq 0 ] && echo "data: good"
exit $((failures != 0))
