// Generics, closures, iterators, a panic's path: inlined many levels deep, across crates.
use std::collections::HashMap;

mod inner {
    pub trait Shape {
        fn area(&self) -> u64;
        fn twice(&self) -> u64 {
            self.area() * 2
        }
    }
    pub struct Square(pub u64);
    pub struct Oblong {
        pub a: u64,
        pub b: u64,
    }
    impl Shape for Square {
        #[inline(always)]
        fn area(&self) -> u64 {
            self.0.wrapping_mul(self.0)
        }
    }
    impl Shape for Oblong {
        fn area(&self) -> u64 {
            self.a.wrapping_mul(self.b)
        }
    }
}
use inner::{Oblong, Shape, Square};

#[inline(never)]
fn total<T: Shape + ?Sized>(shapes: &[Box<T>]) -> u64 {
    shapes.iter().map(|s| s.twice()).filter(|a| a % 3 != 0).fold(0, |t, a| t.wrapping_add(a))
}

#[inline(never)]
fn generic<F: Fn(u64) -> Option<u64>>(n: u64, f: F) -> u64 {
    (0..n).filter_map(&f).zip((0..n).rev()).map(|(x, y)| x ^ y).sum()
}

#[inline(never)]
fn words(text: &str) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    for word in text.split_whitespace().map(|w| w.trim_matches('.').to_lowercase()) {
        *counts.entry(word).or_insert(0) += 1;
    }
    counts
}

fn main() {
    let turns: u64 = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(1);
    let mut sum = 0u64;
    for i in 0..turns {
        let shapes: Vec<Box<dyn Shape>> = vec![Box::new(Square(i)), Box::new(Oblong { a: i, b: 3 })];
        sum = sum.wrapping_add(total(&shapes));
        sum ^= generic(i % 64, |x| if x % 2 == 0 { x.checked_mul(i) } else { None });
        let mut sorted: Vec<u64> = (0..8).map(|k| (k * 7 + i) % 5).collect();
        sorted.sort_by(|a, b| b.cmp(a));
        sum ^= sorted[(i % 8) as usize];
    }
    println!("{} {}", sum, words("one two. Two three").len());
}
