"""The ops that are run to check the table: shapes above a kilobyte, so that small change does not blur them."""

from tests.ops.cases.arrays import ARRAYS
from tests.ops.cases.blocks import BLOCKS
from tests.ops.cases.convolutions import CONVOLUTIONS
from tests.ops.cases.elementwise import ELEMENTWISE
from tests.ops.cases.images import IMAGE_OPS
from tests.ops.cases.products import LOSSES, PRODUCTS
from tests.ops.cases.rarer import RARER
from tests.ops.cases.reductions import REDUCTIONS
from tests.ops.cases.sparse import SPARSE
from tests.ops.cases.views import VIEWS

CASES = [
    *ELEMENTWISE,
    *VIEWS,
    *REDUCTIONS,
    *CONVOLUTIONS,
    *IMAGE_OPS,
    *PRODUCTS,
    *LOSSES,
    *ARRAYS,
    *RARER,
    *SPARSE,
    *BLOCKS,
]
