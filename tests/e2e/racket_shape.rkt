#lang racket/base
; A program whose stacks are known: racket racket_shape.rkt SECONDS. Names that are assigned to are
; called as they stand, not inlined.
(require ffi/unsafe)

(define sink 0)
(define (spin n)
  (let loop ([i 0] [a 0]) (if (= i n) a (loop (+ i 1) (bitwise-xor a (* i 3))))))
(define (heavy) (+ 1 (spin 60000)))
(define (medium) (+ 1 (spin 30000)))
(define (light) (+ 1 (spin 10000)))
(define (recurse n) (if (= n 0) (light) (+ 1 (recurse (- n 1)))))
(define (capture) (+ 1 (call/cc (lambda (k) (+ 1 (light))))))
(define (compare a b) (light) (- (ptr-ref a _int) (ptr-ref b _int)))
(define sort-ints
  (get-ffi-obj "qsort" #f (_fun _pointer _size _size (_fun _pointer _pointer -> _int) -> _void)))
(define ints (malloc 'raw (* 4 4)))
(define (callback)
  (for ([i 4]) (ptr-set! ints _int i (- 4 i)))
  (sort-ints ints 4 4 compare)
  1)
(define (allocate n) (if (= n 0) '() (cons (make-vector 200 n) (allocate (- n 1)))))
(define (collect) (+ 1 (length (allocate 40))))
(set! spin spin) (set! heavy heavy) (set! medium medium) (set! light light)
(set! recurse recurse) (set! capture capture) (set! compare compare) (set! callback callback)
(set! allocate allocate) (set! collect collect)

(define (turn) (+ (heavy) (medium) (light) (recurse 40) (capture) (callback) (collect)))
(set! turn turn)
(define (run until)
  (set! sink (turn))
  (when (< (current-process-milliseconds) until) (run until)))
; All files are loaded.
(displayln "turning")
(flush-output)
(run (+ (current-process-milliseconds)
        (* 1000 (string->number (vector-ref (current-command-line-arguments) 0)))))
