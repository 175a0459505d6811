<?php
// Part of php_shape.php: code of a file that another one includes.
return spin(3000 * FACTOR);
